/* stage_plan.c: how a product on host memory is cut: C in blocks, A and B in the panels that a row or
 * column of blocks needs. Panels of A and B travel in turns, so that after i of each, i×i blocks can run.
 * A batch is cut in groups of products instead. */
#include <string.h>

#include "../numeric.h"
#include "../product.h"
#include "stage.h"

/* Below this many bytes, cutting a product costs more than it hides. */
static const int64_t WORTH_CUTTING = 8 << 20;

static int64_t least(int64_t x, int64_t y) {
    return x < y ? x : y;
}

static int64_t rounded_up(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

tess_status stage_event(stage_job *job, cu_event *event, sentence *why) {
    cuda_stage *stage = job->stage;
    if (job->events_used == STAGE_EVENTS)
        return status_fail(why, TESS_ERROR_INTERNAL, "a staged product needs more than %d events",
                           STAGE_EVENTS);
    if (job->events_used == stage->events_made) {
        CUDA(job->self, cuEventCreate, &stage->events[stage->events_made], 0);
        stage->events_made++;
    }
    *event = stage->events[job->events_used++];
    return TESS_OK;
}

/* ---- Matrices ---- */

/* A view as lines. One whose neighbours are next to each other keeps its direction on the card; any other
 * arrives there by rows. */
static stage_matrix matrix_of(const void *data, tess_type type, int64_t rows, int64_t cols,
                              int64_t row_stride, int64_t col_stride, int64_t count, int64_t batch_stride) {
    stage_matrix m = {.host = (char *)(uintptr_t)data, .size = numeric_size(type)};
    m.by_rows = col_stride == 1 || row_stride != 1;
    m.lines = m.by_rows ? rows : cols;
    m.length = m.by_rows ? cols : rows;
    m.line = m.by_rows ? row_stride : col_stride;
    m.step = m.by_rows ? col_stride : row_stride;
    m.products = batch_stride == 0 ? 1 : count;
    m.batch = batch_stride;
    m.pitch =
        rounded_up(m.length * m.size, m.length * m.size < 128 ? 16 : 128); /* as copies of route.c have it */
    return m;
}

/* The card copies by itself what is pinned and lies in lines at equal distances. */
static int can_be_direct(const stage_matrix *m) {
    int even = m->products == 1 || m->batch == m->lines * m->line;
    return even && m->step == 1 && m->line >= m->length && cuda_is_pinned(m->host);
}

static tess_status place_matrix(stage_job *job, int which, stage_matrix m, sentence *why) {
    static const char *const purposes[] = {"a copy of A", "a copy of B", "a copy of C"};
    cuda_buffer *copy = &job->stage->copies[which];
    TRY(cuda_grow(job->self, copy, (size_t)(m.pitch * m.lines * m.products), purposes[which], why));
    m.device = copy->memory;
    m.direct = can_be_direct(&m);
    job->matrices[which] = m;
    return TESS_OK;
}

static tess_status place_matrices(stage_job *job, const operands *data, sentence *why) {
    const problem *p = &job->whole->what;
    int64_t count = p->batch.count;
    if (job->on_host & CUDA_A_ON_HOST)
        TRY(place_matrix(job, 0,
                         matrix_of(data->a, p->in, p->m, p->k, p->a_row, p->a_col, count, p->batch.stride_a),
                         why));
    if (job->on_host & CUDA_B_ON_HOST)
        TRY(place_matrix(job, 1,
                         matrix_of(data->b, p->in, p->k, p->n, p->b_row, p->b_col, count, p->batch.stride_b),
                         why));
    if (job->on_host & CUDA_C_ON_HOST)
        TRY(place_matrix(job, 2,
                         matrix_of(data->c, p->out, p->m, p->n, p->c_row, p->c_col, count, p->batch.stride_c),
                         why));
    return TESS_OK;
}

/* The strides of the copy on the card. */
static void use_copy(const stage_matrix *m, int64_t *row, int64_t *col, int64_t *batch) {
    int64_t line = m->pitch / m->size;
    *row = m->by_rows ? line : 1;
    *col = m->by_rows ? 1 : line;
    *batch = m->products > 1 ? m->lines * line : 0;
}

/* The product as the card sees it. */
static void use_copies(stage_job *job, problem *p, operands *data) {
    p->place_a = p->place_b = p->place_c = TESS_DEVICE;
    if (job->on_host & CUDA_A_ON_HOST) {
        use_copy(&job->matrices[0], &p->a_row, &p->a_col, &p->batch.stride_a);
        data->a = job->matrices[0].device;
    }
    if (job->on_host & CUDA_B_ON_HOST) {
        use_copy(&job->matrices[1], &p->b_row, &p->b_col, &p->batch.stride_b);
        data->b = job->matrices[1].device;
    }
    if (job->on_host & CUDA_C_ON_HOST) {
        use_copy(&job->matrices[2], &p->c_row, &p->c_col, &p->batch.stride_c);
        data->c = job->matrices[2].device;
    }
}

/* ---- Parts ---- */

/* Rows, columns and products of a part. */
typedef struct range {
    int64_t row, rows, col, cols, product, products;
} range;

/* A part of several products has all their rows and columns: then its lines follow one another. */
static stage_part part_of(const stage_matrix *m, const range *r) {
    stage_part part = {.matrix = m};
    int64_t line = m->by_rows ? r->row : r->col, lines = m->by_rows ? r->rows : r->cols;
    part.first = m->by_rows ? r->col : r->row;
    part.length = m->by_rows ? r->cols : r->rows;
    part.line = m->products > 1 ? r->product * m->lines : line;
    part.lines = m->products > 1 ? r->products * m->lines : lines;
    stage_cut(&part);
    return part;
}

static tess_status add_part(stage_job *job, int which, const range *r, int *index, sentence *why) {
    *index = -1;
    if (!(job->on_host & 1 << which)) return TESS_OK;
    stage_part *part = &job->parts[job->part_count];
    *part = part_of(&job->matrices[which], r);
    TRY(stage_event(job, &part->begin, why));
    TRY(stage_event(job, &part->end, why));
    *index = job->part_count++;
    return TESS_OK;
}

/* ---- Blocks ---- */

static const void *moved(const void *data, int64_t elements, int64_t size) {
    return data ? (const char *)data + elements * size : NULL;
}

/* The block of C with these rows, columns and products; panels are the indices of its parts of A and B. */
static tess_status add_block(stage_job *job, const problem *p, const operands *data, const range *r,
                             int panel_a, int panel_b, sentence *why) {
    stage_block *block = &job->blocks[job->block_count];
    int64_t in = numeric_size(p->in), out = numeric_size(p->out);
    block->needs[0] = panel_a, block->needs[1] = panel_b, block->needs[2] = -1;
    if (data->beta != 0) TRY(add_part(job, 2, r, &block->needs[2], why));
    block->decided = *job->whole;
    if (r->rows < p->m || r->cols < p->n) block->decided.rest.kernel = NULL; /* the cut was for all of C */
    problem *what = &block->decided.what;
    *what = *p;
    what->m = r->rows, what->n = r->cols, what->batch.count = r->products;
    block->data = *data;
    block->data.a = moved(data->a, r->row * p->a_row + r->product * p->batch.stride_a, in);
    block->data.b = moved(data->b, r->col * p->b_col + r->product * p->batch.stride_b, in);
    block->data.c =
        (char *)data->c + (r->row * p->c_row + r->col * p->c_col + r->product * p->batch.stride_c) * out;
    if (job->whole->kernel && job->whole->kernel->block)
        TRY(product_workspace(&block->decided, &block->data, &block->decided.workspace, why));
    TRY(stage_event(job, &block->start, why));
    TRY(stage_event(job, &block->done, why));
    memset(&block->back, 0, sizeof block->back);
    if (job->on_host & CUDA_C_ON_HOST) {
        block->back = part_of(&job->matrices[2], r);
        TRY(stage_event(job, &block->back.begin, why));
        TRY(stage_event(job, &block->back.end, why));
    }
    job->block_count++;
    return TESS_OK;
}

/* ---- Cuts ---- */

/* A length in pieces that are whole tiles. */
typedef struct cut {
    int64_t length, piece;
    int count;
} cut;

static cut cut_in(int64_t length, int64_t tile, int count) {
    int64_t tiles = (length + tile - 1) / tile;
    int64_t piece = (tiles + count - 1) / count * tile;
    return (cut){length, piece, (int)((length + piece - 1) / piece)};
}

static double tiles_of_block(cut rows, cut cols, const launch_shape *shape) {
    return (double)(least(rows.piece, rows.length) / shape->tile_rows + 1) *
           (double)(least(cols.piece, cols.length) / shape->tile_cols + 1);
}

/* As many blocks as keep the card full: each should have nearly one tile for every multiprocessor, because
 * several run at once. The more blocks, the sooner the first can start. */
static void choose_cuts(const stage_job *job, const problem *p, const launch_shape *shape, cut *rows,
                        cut *cols) {
    double enough = 0.9 * job->self->facts->gpu.sms;
    *rows = cut_in(p->m, shape->tile_rows, 1);
    *cols = cut_in(p->n, shape->tile_cols, 1);
    for (;;) {
        int by_rows = rows->piece >= cols->piece;
        cut r = by_rows ? cut_in(p->m, shape->tile_rows, rows->count + 1) : *rows;
        cut c = by_rows ? *cols : cut_in(p->n, shape->tile_cols, cols->count + 1);
        if (r.count > STAGE_PANELS || c.count > STAGE_PANELS || tiles_of_block(r, c, shape) < enough) return;
        if (r.count == rows->count && c.count == cols->count) return;
        *rows = r;
        *cols = c;
    }
}

static void piece_of_cut(const cut *c, int index, int64_t *first, int64_t *length) {
    *first = index * c->piece;
    *length = least(c->piece, c->length - *first);
}

/* Panels in turns, A first; each brings the blocks it makes possible. */
static tess_status add_panels(stage_job *job, const problem *p, const operands *data, cut rows, cut cols,
                              sentence *why) {
    int panels_a[STAGE_PANELS], panels_b[STAGE_PANELS];
    int most = rows.count > cols.count ? rows.count : cols.count;
    for (int turn = 0; turn < 2 * most; turn++) {
        int of_b = turn % 2, at = turn / 2;
        if (at >= (of_b ? cols.count : rows.count)) continue;
        range panel = {.rows = p->k, .cols = p->k, .products = 1};
        if (of_b)
            piece_of_cut(&cols, at, &panel.col, &panel.cols);
        else
            piece_of_cut(&rows, at, &panel.row, &panel.rows);
        TRY(add_part(job, of_b, &panel, of_b ? &panels_b[at] : &panels_a[at], why));
        int others = (int)(of_b ? least(at + 1, rows.count) : least(at, cols.count));
        for (int other = 0; other < others; other++) {
            int row = of_b ? other : at, col = of_b ? at : other;
            range block = {.products = 1};
            piece_of_cut(&rows, row, &block.row, &block.rows);
            piece_of_cut(&cols, col, &block.col, &block.cols);
            TRY(add_block(job, p, data, &block, panels_a[row], panels_b[col], why));
        }
    }
    return TESS_OK;
}

/* Groups of products. A matrix that all products share travels once, with the first. */
static tess_status add_groups(stage_job *job, const problem *p, const operands *data, int64_t groups,
                              sentence *why) {
    int shared[2] = {-1, -1};
    int64_t each = (p->batch.count + groups - 1) / groups;
    for (int64_t product = 0; product < p->batch.count; product += each) {
        range group = {.rows = p->m, .cols = p->n, .product = product};
        group.products = least(each, p->batch.count - product);
        int panels[2] = {shared[0], shared[1]};
        for (int which = 0; which < 2; which++) {
            if (panels[which] >= 0 || !job->whole->kernel) continue;
            range all = group;
            all.rows = which ? p->k : p->m, all.cols = which ? p->n : p->k;
            TRY(add_part(job, which, &all, &panels[which], why));
            if (job->matrices[which].products == 1) shared[which] = panels[which];
        }
        TRY(add_block(job, p, data, &group, panels[0], panels[1], why));
    }
    return TESS_OK;
}

static int64_t bytes_to_move(const stage_job *job) {
    int64_t bytes = 0;
    for (int i = 0; i < 3; i++)
        bytes += job->matrices[i].pitch * job->matrices[i].lines * job->matrices[i].products;
    return bytes;
}

tess_status stage_plan(stage_job *job, const operands *given, sentence *why) {
    problem p = job->whole->what;
    operands data = *given;
    TRY(place_matrices(job, &data, why));
    use_copies(job, &p, &data);
    int64_t bytes = bytes_to_move(job), groups = least(STAGE_GROUPS, bytes / WORTH_CUTTING + 1);
    const kernel_row *kernel = job->whole->kernel;
    if (p.batch.count > 1 || !kernel || bytes < WORTH_CUTTING)
        return add_groups(job, &p, &data, p.batch.count > 1 ? least(groups, p.batch.count) : 1, why);
    launch_shape shape = {.tile_rows = 128, .tile_cols = 128};
    if (kernel->block) TRY(launch_shape_of(kernel, route_input(&p, kernel), job->whole->params, &shape, why));
    cut rows, cols;
    choose_cuts(job, &p, &shape, &rows, &cols);
    return add_panels(job, &p, &data, rows, cols, why);
}
