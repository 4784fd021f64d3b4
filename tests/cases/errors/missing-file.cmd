mcprove run nowhere.yml
mcprove check parts/god.yml
mcprove plan nowhere.yml parts/good.yml
mcprove run "nowhere/*.yml"
mcprove fault-coverage nowhere.yml
mcprove report nowhere.ndjson --as junit
mcprove run parts/good.yml:12x
