mcprove run parts/only.yml --report junit=out.xml
