/* runs.c: invents two runs of the same benchmarks, to see what `tessera compare` makes of them.
 *
 *     runs SEED PAIRS DRIFT SLOWDOWN OLD.csv NEW.csv < NOISE
 *
 * A line of NOISE is the number of samples, their noise (the 90th less the 10th percentile, in percent of
 * the median) and the time in ms of a case somebody measured; the cases are taken in turn until there are
 * PAIRS. Each run of a case is slower or faster by a normal deviate of DRIFT percent; the new ones are
 * slower by SLOWDOWN percent, too. The same seed gives the same files. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES_MOST = 1024, SAMPLES_MOST = 4096 };

typedef struct noisy_case {
    int samples;
    double noise, time;
} noisy_case;

static uint64_t state;

/* Uniform in (0, 1). */
static double draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double draw_normal(void) {
    double radius = sqrt(-2 * log(draw()));
    return radius * cos(6.283185307179586 * draw());
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(const double *sorted, int count, double share) {
    double at = share * (count - 1);
    int below = (int)at;
    return below + 1 < count ? sorted[below] + (at - below) * (sorted[below + 1] - sorted[below])
                             : sorted[count - 1];
}

static void write_run(FILE *file, int number, const noisy_case *c, double scale, double drift) {
    double samples[SAMPLES_MOST], deviation = c->noise / 100 / 2.563;
    double centre = c->time * scale * exp(drift / 100 * draw_normal());
    for (int i = 0; i < c->samples; i++) samples[i] = centre * exp(deviation * draw_normal());
    qsort(samples, (size_t)c->samples, sizeof *samples, compare);
    fprintf(file, "case%d,1,1,1,%d,%.17g,%.17g,%.17g\n", number, c->samples,
            percentile(samples, c->samples, 0.5), percentile(samples, c->samples, 0.1),
            percentile(samples, c->samples, 0.9));
}

static int read_cases(noisy_case *cases) {
    int count = 0;
    while (count < CASES_MOST &&
           scanf("%d %lf %lf", &cases[count].samples, &cases[count].noise, &cases[count].time) == 3) {
        if (cases[count].samples < 1 || cases[count].samples > SAMPLES_MOST) return 0;
        count++;
    }
    return count;
}

int main(int argc, char **argv) {
    static noisy_case cases[CASES_MOST];
    if (argc != 7) {
        fprintf(stderr, "usage: runs SEED PAIRS DRIFT SLOWDOWN OLD.csv NEW.csv < NOISE\n");
        return 2;
    }
    state = strtoull(argv[1], NULL, 10) * 2654435769u + 88172645463325252u;
    int pairs = atoi(argv[2]), count = read_cases(cases);
    double drift = atof(argv[3]), slowdown = atof(argv[4]);
    FILE *files[2] = {fopen(argv[5], "w"), fopen(argv[6], "w")};
    if (count == 0 || files[0] == NULL || files[1] == NULL) {
        fprintf(stderr, "runs: no cases on standard input, or a file that cannot be written\n");
        return 1;
    }
    for (int side = 0; side < 2; side++) {
        fputs("kernel,m,n,k,samples,time_ms,p10_ms,p90_ms\n", files[side]);
        for (int i = 0; i < pairs; i++)
            write_run(files[side], i, &cases[i % count], side == 0 ? 1 : 1 + slowdown / 100, drift);
        if (fclose(files[side]) != 0) return 1;
    }
    return 0;
}
