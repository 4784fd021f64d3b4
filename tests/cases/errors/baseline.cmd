mcprove run parts/good.yml --state-dir .state-of-baselines --baseline parts/baseline.yml
mcprove run parts/good.yml --state-dir .state-of-baselines --baseline parts/old-baseline.yml
mcprove run parts/good.yml --state-dir .state-of-baselines --baseline parts/nowhere.yml
