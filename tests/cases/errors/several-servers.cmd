mcprove run parts/two-servers.yml demo
