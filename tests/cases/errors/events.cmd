mcprove report parts/broken.ndjson --as junit
mcprove report parts/newer.ndjson --as junit
mcprove report parts/broken.ndjson --as nothing
