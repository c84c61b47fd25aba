# Publishing from R: the command 'dpfda' does it; a data frame goes to it as a file that is removed again.

#' Publish a function of private data under differential privacy
#'
#' Calls the command `dpfda` of the Python library of that name, which reads the records, charges the ledger,
#' draws the noise and writes the release. Its path is the option `dpfda.command`, else the variable
#' `DPFDA_COMMAND` of the environment, else `dpfda` on the path.
#'
#' A data frame is written to a file in a new folder that only its owner may read, with all digits of its
#' numbers, and removed when the command has ended. `TRUE` and `FALSE` become 1 and 0, dates `2024-03-01`,
#' `NA` an empty cell.
#'
#' @param verb What to publish: `"mean"`, `"density"`, `"survival"` and so on; `dpfda --help` lists them.
#' @param data Records: a data frame, or the path of a file that the command reads.
#' @param out Path of the file of the release, which must not exist. What is in it is public.
#' @param ... Options of the verb by the names that are typed, with underscores for dashes and without those
#'   in front: `epsilon = 1, bounds = c(0, 1), x_label = "hour of the day"`. A vector where an option takes
#'   several values or may be repeated; `TRUE` for an option without a value. See `dpfda mean --help`, or
#'   that of another verb.
#' @param dry_run Check all of it and say what would be published, of whom and at what price; nothing is
#'   charged, drawn or written.
#' @param quiet Say nothing of what the command says.
#' @return The release, as of [read_release()], invisibly. Of a dry run what the command said, invisibly.
#' @seealso [read_release()], [plot.dpfda_release()], [eval_release()]
#' @examples
#' \dontrun{
#' curves <- as.data.frame(matrix(runif(200 * 24), ncol = 24))
#' names(curves) <- 0:23
#' release <- release_mean(curves, "mean.json", epsilon = 1, bounds = c(0, 1), unit = "household")
#' plot(release)
#' release_survival(lung, "lung.json", time = "time", event = "status", cause = 2, censored = 1,
#'   domain = c(0, 1100), epsilon = 1, unit = "patient")
#' }
#' @export
publish <- function(verb, data, out, ..., dry_run = FALSE, quiet = FALSE) {
  if (!is.character(verb) || length(verb) != 1 || is.na(verb)) {
    stop("`verb` must be one word, such as \"mean\"", call. = FALSE)
  }
  if (!is.character(out) || length(out) != 1 || is.na(out)) {
    stop("`out` must be the path of one new file", call. = FALSE)
  }
  given <- list(...)
  if (length(given) && (is.null(names(given)) || any(names(given) == ""))) {
    stop("options must be given by their names, such as epsilon = 1", call. = FALSE)
  }
  folder <- tempfile("dpfda")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  file <- if (is.data.frame(data)) written(data, file.path(folder, "records.csv")) else data
  if (!is.character(file) || length(file) != 1 || !file.exists(file)) {
    stop("`data` must be a data frame, or the path of one file", call. = FALSE)
  }
  study <- file.path(folder, "study.toml")
  release <- c(list(verb = verb, out = out), given)
  text <- c("[data]", toml(list(file = file)), "[[release]]", toml(release))
  writeLines(enc2utf8(text), study, useBytes = TRUE)
  said <- called(c("run", study, if (dry_run) "--dry-run"))
  # The study is a file of ours: its first line says nothing to the caller.
  said <- sub("^[^\n]*study\\.toml[^\n]*\n", "", said)
  if (!quiet || dry_run) cat(said)
  invisible(if (dry_run) said else read_release(out))
}

publisher <- function(verb) {
  force(verb)
  function(data, out, ...) publish(verb, data, out, ...)
}

#' @rdname publish
#' @export
release_mean <- publisher("mean")

#' @rdname publish
#' @export
release_compare <- publisher("compare")

#' @rdname publish
#' @export
release_density <- publisher("density")

#' @rdname publish
#' @export
release_quantiles <- publisher("quantiles")

#' @rdname publish
#' @export
release_survival <- publisher("survival")

#' @rdname publish
#' @export
release_cox <- publisher("cox")

#' @rdname publish
#' @export
release_effects <- publisher("effects")

#' @rdname publish
#' @export
release_covariance <- publisher("covariance")

#' @rdname publish
#' @export
release_fpca <- publisher("fpca")

#' @rdname publish
#' @export
release_regress <- publisher("regress")

#' @rdname publish
#' @export
release_classify <- publisher("classify")

#' @rdname publish
#' @export
release_reference <- publisher("reference")

#' @rdname publish
#' @export
release_test <- publisher("test")

#' Values of a release at any points, as Python has them
#'
#' Where [predict.dpfda_release()] reads the table of the file, this asks the command for the function
#' itself, with a band of any level.
#'
#' @param path Path of the file of a release.
#' @param at Points: a vector, or a matrix or data frame with a column for each variable. By default the
#'   points of the file.
#' @param level Probability of the band.
#' @param ... Further options of `dpfda eval` by their names, such as `of = "population"`, `band =
#'   "pointwise"`, `derivative = TRUE`.
#' @return A data frame: coordinates of the points, values, and `lower` and `upper` where there is a band;
#'   each with what it is as attribute `label`.
#' @examples
#' \dontrun{
#' eval_release("mean.json", c(6, 12.5, 18), level = 0.9)
#' }
#' @export
eval_release <- function(path, at = NULL, level = 0.95, ...) {
  if (!is.character(path) || length(path) != 1 || !file.exists(path)) {
    stop("`path` must be the file of a release", call. = FALSE)
  }
  folder <- tempfile("dpfda")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  table <- file.path(folder, "values.csv")
  points <- if (!is.null(at)) {
    # All digits: a point is the one that was asked for.
    paste(apply(as.matrix(at), 1, function(row) paste(sprintf("%.17g", row), collapse = ":")), collapse = ",")
  }
  called(c("eval", normalizePath(path), if (!is.null(points)) paste0("--at=", points), "--level", plain(level),
           typed(list(...)), "--csv", table))
  found <- utils::read.csv(table, check.names = FALSE)
  labels <- names(found)
  names(found) <- sub(": .*", "", labels)
  for (i in seq_along(found)) attr(found[[i]], "label") <- sub("^[^:]*: ", "", labels[i])
  found
}

# Options as they are typed on a line.
typed <- function(given) {
  unlist(Map(function(name, value) {
    flag <- paste0("--", gsub("_", "-", name))
    if (isTRUE(value)) flag else if (isFALSE(value)) NULL else c(flag, plain(value))
  }, names(given), given), use.names = FALSE)
}

# Runs the command; its message is the error.
called <- function(arguments) {
  command <- getOption("dpfda.command", Sys.getenv("DPFDA_COMMAND", unset = Sys.which("dpfda")))
  if (!nzchar(command) || !file.exists(command)) {
    stop("the command dpfda must be there: install it with `pip install 'dpfda[all]'`, and name it by ",
         "options(dpfda.command = \"path/to/dpfda\") where it is not on the path", call. = FALSE)
  }
  done <- processx::run(command, arguments, error_on_status = FALSE, encoding = "UTF-8")
  if (done$status != 0) {
    stop(sub("^error: ", "", trimws(done$stderr)), call. = FALSE)
  }
  if (nzchar(trimws(done$stderr))) message(trimws(done$stderr))
  done$stdout
}

# A data frame as a text table, with all digits.
written <- function(data, path) {
  data[] <- lapply(data, function(column) {
    if (is.logical(column)) column <- as.integer(column)
    text <- if (is.double(column) && !inherits(column, c("Date", "POSIXt"))) {
      ifelse(is.na(column), NA, sprintf("%.17g", column))
    } else {
      as.character(column)
    }
    enc2utf8(text)
  })
  utils::write.csv(data, path, row.names = FALSE, na = "", fileEncoding = "UTF-8")
  path
}

PATHS <- c("file", "out", "ledger", "plot", "csv", "prior", "components_file", "difference_plot", "effect_plot")

# Entries of a table in TOML. Paths are those of this session.
toml <- function(entries) {
  vapply(names(entries), function(name) {
    value <- entries[[name]]
    if (name %in% PATHS) value <- absolute(value)
    text <- if (is.character(value)) vapply(value, jsonlite::toJSON, "", auto_unbox = TRUE) else plain(value)
    if (length(text) != 1) text <- paste0("[", paste(text, collapse = ", "), "]")
    paste(gsub("_", "-", name), "=", text)
  }, "")
}

# The path of a file that need not be there, in a folder that is.
absolute <- function(path) file.path(normalizePath(dirname(path), mustWork = TRUE), basename(path))

# Numbers as a person would type them, and TRUE and FALSE.
plain <- function(value) {
  if (is.logical(value)) {
    tolower(as.character(value))
  } else if (is.numeric(value)) {
    format(value, digits = 15, scientific = FALSE, trim = TRUE, drop0trailing = TRUE)
  } else {
    as.character(value)
  }
}
