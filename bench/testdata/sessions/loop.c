
// The command modules of package bench appends this to the program that "provider new -lang c" writes, whose main
// function it renames: it also answers the calls of a session.
int main(int argc, char **argv) {
  if (argc > 1) return one_shot(argc, argv);
  char *line = NULL;
  size_t size = 0;
  while (getline(&line, &size, stdin) > 0) {
    char *method = text(member(line, "method"));
    if (strncmp(method, "$/", 2) == 0) continue; // a notification
    int id = atoi(member(line, "id"));
    if (strcmp(method, "initialize") == 0) {
      printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"protocol\":1}}\n", id);
    } else if (strcmp(method, "call") == 0) {
      char *given = text(space(member(member(line, "params"), "args") + 1)), *made = label(given);
      printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"result\":\"%s\"}}\n", id, made);
      free(given);
      free(made);
    } else {
      printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"error\":{\"code\":-32601,\"message\":\"no such action\"}}\n", id);
    }
    free(method);
    fflush(stdout);
  }
  return 0;
}
