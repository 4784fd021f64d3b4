mcprove convert convert.json
