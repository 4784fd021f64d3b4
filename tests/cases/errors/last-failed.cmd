mcprove run parts/good.yml --last-failed
