mcprove run parts/good.yml --report junit
mcprove run parts/good.yml --report junti=out.xml
mcprove run parts/good.yml --threshold 1000
mcprove run parts/good.yml --threshold NaN
mcprove run parts/good.yml --parallel 0
mcprove run parts/good.yml --timeout 10
mcprove run parts/good.yml --colour never
mcprove run parts/good.yml --report junit=no/such/folder/out.xml
mcprove rnu parts/good.yml
mcprove schema nothing
mcprove fault-coverage parts/good.yml --probe fuz
mcprove fault-coverage parts/good.yml --threshold 101
mcprove run parts/good.yml --timeout 0s
mcprove run parts/good.yml --repeat 0
mcprove parts/good.yml
mcprove run parts/good.yml --bail=0
mcprove run parts/good.yml --parallel many
mcprove run parts/good.yml --shuffle=abc
