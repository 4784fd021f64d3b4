mcprove run parts/only.yml
CI=true mcprove run parts/only.yml
CI=true mcprove check parts/only.yml
