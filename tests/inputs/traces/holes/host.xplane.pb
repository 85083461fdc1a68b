
	/host:CPU