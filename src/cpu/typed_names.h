/* typed_names.h: TYPED(name) is `name` with the suffix of the type at hand, SUFFIX. */
#ifndef TYPED_NAMES_H
#define TYPED_NAMES_H

#define TYPED_JOIN(name, suffix) name##_##suffix
#define TYPED_NAME(name, suffix) TYPED_JOIN(name, suffix)
#define TYPED(name)              TYPED_NAME(name, SUFFIX)

#endif
