package crash

func runProgram(dir, action string) int { return 3 }
