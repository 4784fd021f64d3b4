console.log("a server that was built");
