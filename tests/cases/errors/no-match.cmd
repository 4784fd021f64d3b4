mcprove run parts/good.yml --filter nothing-is-called-so
mcprove run parts/good.yml:1
mcprove run parts/good.yml --row a=9
mcprove run parts/good.yml --filter "tag(smok)"
