// The program of the provider NAME. The first argument is the action. It needs only the standard library; a library for
// JSON can replace the functions in the middle.

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *message) {
  fprintf(stderr, "%s\n", message); // the message for the user
  exit(1);
}

static void *memory(size_t size) {
  void *p = malloc(size);
  if (p == NULL) fail("there is not enough memory");
  return p;
}

// read_input returns all of standard input.
static char *read_input(void) {
  size_t used = 0, size = 4096;
  char *text = memory(size);
  for (size_t n; (n = fread(text + used, 1, size - used - 1, stdin)) > 0;) {
    used += n;
    if (used + 1 == size && (text = realloc(text, size *= 2)) == NULL) fail("the request is too long");
  }
  text[used] = 0;
  return text;
}

static const char *space(const char *p) {
  while (isspace((unsigned char)*p)) p++;
  return p;
}

// after_string returns the end of a JSON string.
static const char *after_string(const char *p) {
  for (p++; *p && *p != '"'; p++)
    if (*p == '\\' && p[1]) p++;
  return *p ? p + 1 : p;
}

// after returns the end of a JSON value.
static const char *after(const char *p) {
  int depth = 0;
  do {
    if (*p == '"') {
      p = after_string(p);
      continue;
    }
    if (*p == '{' || *p == '[') depth++;
    if (*p == '}' || *p == ']') depth--;
    if (*p) p++;
  } while (*p && (depth > 0 || !strchr(",]}", *p)));
  return p;
}

// member returns a member of a JSON object. A request without it is not valid.
static const char *member(const char *json, const char *name) {
  const char *p = space(json);
  if (*p == '{')
    for (p = space(p + 1); *p == '"'; p = space(p + 1)) {
      const char *end = after_string(p);
      int found = (size_t)(end - p) == strlen(name) + 2 && strncmp(p + 1, name, strlen(name)) == 0;
      p = space(end);
      if (*p != ':') break;
      p = space(p + 1);
      if (found) return p;
      p = space(after(p));
      if (*p != ',') break;
    }
  fail("the request has no such member");
  return NULL;
}

// unicode reads the four digits of an escape.
static unsigned unicode(const char *p) {
  char digits[5] = {0};
  strncpy(digits, p, 4);
  return (unsigned)strtoul(digits, NULL, 16);
}

// text returns the text of a JSON string in UTF-8.
static char *text(const char *p) {
  if (*p != '"') fail("a text was expected");
  char *out = memory((size_t)(after_string(p) - p) * 2 + 4), *to = out;
  for (p++; *p && *p != '"'; p++) {
    if (*p != '\\' || !p[1]) {
      *to++ = *p;
      continue;
    }
    p++;
    const char *at = strchr("n\nt\tr\rb\bf\f", *p);
    if (*p != 'u') {
      *to++ = at && isalpha((unsigned char)*at) ? at[1] : *p;
      continue;
    }
    unsigned code = unicode(p + 1);
    for (int i = 0; i < 4 && p[1]; i++) p++;
    if (code >= 0xd800 && code < 0xdc00 && p[1] == '\\' && p[2] == 'u') { // a pair
      code = 0x10000 + ((code - 0xd800) << 10) + ((unicode(p + 3) - 0xdc00) & 0x3ff);
      for (int i = 0; i < 6 && p[1]; i++) p++;
    }
    if (code < 0x80) {
      *to++ = (char)code;
    } else if (code < 0x800) {
      *to++ = (char)(0xc0 | code >> 6), *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      *to++ = (char)(0xe0 | code >> 12), *to++ = (char)(0x80 | (code >> 6 & 0x3f));
      *to++ = (char)(0x80 | (code & 0x3f));
    } else {
      *to++ = (char)(0xf0 | code >> 18), *to++ = (char)(0x80 | (code >> 12 & 0x3f));
      *to++ = (char)(0x80 | (code >> 6 & 0x3f)), *to++ = (char)(0x80 | (code & 0x3f));
    }
  }
  *to = 0;
  return out;
}

// label returns a text with only lower-case letters, digits and hyphens, which need no escapes in JSON.
static char *label(const char *text) {
  char *out = memory(strlen(text) + 1), *to = out;
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x80 && isalnum(c)) {
      *to++ = (char)tolower(c);
    } else if (to == out || to[-1] != '-') {
      *to++ = '-';
    }
  }
  *to = 0;
  return out;
}

int main(int argc, char **argv) {
  const char *action = argc > 1 ? argv[1] : "", *in = read_input();
  if (strcmp(action, "data") == 0) {
    char *given = text(member(member(in, "config"), "text"));
    printf("{\"state\": {\"label\": \"%s\", \"bytes\": %zu}}\n", label(given), strlen(given));
  } else if (strcmp(action, "call") == 0) {
    const char *list = member(in, "args");
    printf("{\"result\": \"%s\"}\n", label(text(space(list + 1))));
  } else {
    fail("there is no such action");
  }
  return 0;
}
