mcprove run empty-folder
mcprove check empty-folder
mcprove fault-coverage empty-folder
