# Reading a release from its file: the entries `words` and `table`, which need no other reader.

#' Read a released function
#'
#' Reads a file that the Python library 'dpfda' wrote with `release.save()` or `--out`: a function of
#' private data, published under differential privacy. Nothing in such a file is private, and whatever is
#' done with it costs no further privacy.
#'
#' @param path Path of a JSON file.
#' @return An object of class `dpfda_release`, a list with
#'   \item{format}{kind of release, such as `"dpfda-release"`}
#'   \item{guarantee}{list with `kind`, `epsilon` and `delta` (or `rho`), and `words`}
#'   \item{neighbours}{which data sets are hard to tell apart: `"replace-one"` or `"add-remove"`}
#'   \item{unit}{who is protected, in the singular}
#'   \item{words}{title, promise, neighbours, bound, warnings and citation, in words}
#'   \item{axes}{data frame with `name`, `label`, `lower` and `upper` of each variable}
#'   \item{columns}{data frame with `name`, `role` and `label` of each column of values}
#'   \item{table}{data frame with points, values, and the ends of their band}
#'   \item{band}{`level`, `around`, `simultaneous` and `words` of the band, or `NULL`}
#'   \item{between}{`"linear"` where values between the points lie on lines, else `"nothing"`}
#' @seealso [predict.dpfda_release()], [plot.dpfda_release()], [confint.dpfda_release()]
#' @examples
#' release <- read_release(system.file("extdata", "mean.json", package = "dpfda"))
#' release
#' head(as.data.frame(release))
#' @export
read_release <- function(path) {
  if (!is.character(path) || length(path) != 1 || is.na(path)) {
    stop("`path` must be one file name", call. = FALSE)
  }
  if (!file.exists(path)) {
    stop("there is no file ", sQuote(path, FALSE), call. = FALSE)
  }
  written <- tryCatch(
    jsonlite::read_json(path, simplifyVector = FALSE),
    error = function(condition) stop(sQuote(path, FALSE), " is not a JSON file", call. = FALSE)
  )
  check_release(written, path)
  written <- legible(written)
  columns <- written$table$columns
  table <- lapply(columns, function(column) numbers(column$values))
  if (length(unique(lengths(table))) > 1) {
    stop(sQuote(path, FALSE), " is damaged: its columns have different lengths", call. = FALSE)
  }
  structure(
    list(
      format = written$format,
      guarantee = written$guarantee[setdiff(names(written$guarantee), "exact")],
      neighbours = written$neighbours,
      unit = written$privacy_unit,
      words = written$words,
      axes = rows_of(written$table$axes, c("name", "label"), c("lower", "upper")),
      columns = rows_of(columns, c("name", "role", "label")),
      table = named_table(table, columns),
      band = written$table$band,
      between = written$table$between
    ),
    class = "dpfda_release"
  )
}

# What was read of a file, without characters that a terminal obeys or that turn or hide what is read:
# whoever made the file may have put them into its words.
legible <- function(written) {
  if (is.character(written)) {
    return(gsub("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]", "\ufffd", written, perl = TRUE))
  }
  if (is.list(written)) {
    written[] <- lapply(written, legible)
  }
  written
}

# Whether a file is a release that says its values plainly; an error that says what to do where it is not.
check_release <- function(written, path) {
  format <- if (is.list(written)) written$format
  if (!is.character(format) || !startsWith(format, "dpfda-")) {
    stop(sQuote(path, FALSE), " is not a file of a dpfda release", call. = FALSE)
  }
  version <- written$schema_version
  if (!is.numeric(version) || version > 2) {
    stop(sQuote(path, FALSE), " has schema version ", format(version), ", later than this package knows;",
         " update it", call. = FALSE)
  }
  if (is.null(written$table) || is.null(written$words)) {
    stop(sQuote(path, FALSE), " was written before releases held plain values; load and save it again",
         " in Python: dpfda.load(\"old.json\").save(\"new.json\")", call. = FALSE)
  }
}

numbers <- function(values) {
  vapply(values, function(value) if (is.null(value)) NA_real_ else as.numeric(value), numeric(1))
}

# A data frame of what a list of objects says, a row for each.
rows_of <- function(objects, texts, numbers = character()) {
  made <- lapply(texts, function(entry) vapply(objects, function(each) each[[entry]], character(1)))
  ends <- lapply(numbers, function(entry) numbers_of(objects, entry))
  as.data.frame(stats::setNames(c(made, ends), c(texts, numbers)))
}

numbers_of <- function(objects, entry) numbers(lapply(objects, function(each) each[[entry]]))

# The table, each column with its meaning as attribute `label`.
named_table <- function(table, columns) {
  names(table) <- vapply(columns, function(column) column$name, character(1))
  for (i in seq_along(table)) {
    attr(table[[i]], "label") <- columns[[i]]$label
  }
  as.data.frame(table, optional = TRUE)
}

# Names of the columns with a role.
named <- function(x, role) x$columns$name[x$columns$role == role]

# Stops where a file holds no table, as of functions of many variables.
check_tabulated <- function(x) {
  if (nrow(x$table) == 0) {
    stop("this release has too many variables for a table; evaluate it in Python", call. = FALSE)
  }
}
