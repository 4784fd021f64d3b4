mcprove run parts/good.yml --filter nothing-is-called-so
mcprove run parts/good.yml --filter "wrods | tag(smok)"
mcprove run parts/good.yml:1
mcprove run parts/good.yml --row a=9
mcprove run parts/good.yml --filter "tag(smok)"
mcprove plan parts/good.yml --filter "server(nope) & !tag(slow)"
mcprove run parts/good.yml --filter "probe(fuz)"
mcprove plan parts/good.yml --filter "tag(/^sm$/)"
mcprove check parts/good.yml:1 parts/good.yml:6
mcprove check parts/good.yml --row a=1 --row a=9
