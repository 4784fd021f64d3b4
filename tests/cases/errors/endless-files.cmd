mcprove check /dev/zero
mcprove check parts/endless.yml
mcprove run parts/good.yml --state-dir .state-of-baselines --baseline /dev/zero
mcprove fault-coverage parts/good.yml --registry /dev/zero
