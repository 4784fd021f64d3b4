mcprove fault-coverage --no-suite --registry parts/registry.yml
mcprove fault-coverage --no-suite --registry parts/nowhere.yml
mcprove fault-coverage --no-suite --registry parts/empty-registry.yml --threshold 1
