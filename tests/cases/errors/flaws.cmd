mcprove serve faulty --flaw parts/flaw.yml
mcprove serve faulty --flaw parts/nowhere.yml
mcprove serve faulty --flaw parts/flaw.yml --fault TOOL-WRONG-RESULT
