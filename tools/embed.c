/* embed.c: writes the files named on its command line as a table of C strings (see src/kernel_source.h).
 *
 *     embed kernels/port.h kernels/simt_01_uncoalesced.cu ... > embedded.c
 *
 * Each line of a file becomes a string of its own, so that a compiler error or a diff still shows it. */
#include <stdio.h>
#include <string.h>

static void write_line(const char *line) {
    fputs("    \"", stdout);
    for (const char *c = line; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '\n')
            fputs("\\n", stdout);
        else if (byte == '"' || byte == '\\')
            printf("\\%c", byte);
        else if (byte == '\t')
            fputs("\\t", stdout);
        else if (byte < 0x20 || byte > 0x7e)
            printf("\\%03o", byte);
        else
            putchar(byte);
    }
    fputs("\"\n", stdout);
}

static int write_file(const char *path) {
    char line[4096];
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return 1;
    }
    const char *slash = strrchr(path, '/');
    printf("{\"%s\",\n", slash ? slash + 1 : path);
    while (fgets(line, sizeof line, file)) write_line(line);
    puts("},");
    int failed = ferror(file);
    fclose(file);
    return failed != 0;
}

int main(int argc, char **argv) {
    int failed = 0;
    puts("/* Written by tools/embed.c. */\n"
         "#include \"kernel_source.h\"\n\n"
         "const kernel_file kernel_files[] = {");
    for (int i = 1; i < argc; i++) failed += write_file(argv[i]);
    puts("{NULL, NULL}};");
    return failed || fflush(stdout) != 0;
}
