mcprove check parts/doubtful
