mcprove serve faulty --plan parts/faults.yml
mcprove serve faulty --plan parts/chaos-plan.yml
mcprove serve faulty --plan parts/nowhere.yml
mcprove serve faulty --plan parts/faults.yml --fault TOOL-WRONG-RESULT
