mcprove report parts/text.ndjson --as junit
mcprove report parts/empty.ndjson --as junit
mcprove report parts/broken.ndjson --as junit
mcprove report parts/joined.ndjson --as junit
mcprove report parts/cut.ndjson --as junit
mcprove report parts/newer.ndjson --as junit
mcprove report parts/nowhere.ndjson --as junit
mcprove report parts/cut.ndjson --as nothing
