# A release in words and as a data frame.

#' A release in words
#'
#' Says what was published, who is protected, what is promised, and what the band holds.
#'
#' @param x,object A release, from [read_release()].
#' @param ... Not used.
#' @return `print` returns the release, invisibly; `summary` the words as a list of class
#'   `summary.dpfda_release`, which adds warnings and the recommended citation.
#' @examples
#' release <- read_release(system.file("extdata", "mean.json", package = "dpfda"))
#' print(release)
#' summary(release)
#' @export
print.dpfda_release <- function(x, ...) {
  tell(x$words$title)
  tell("Promise: ", x$words$promise)
  tell("Compared: ", x$words$neighbours)
  tell("Bound: ", x$words$bound)
  ends <- sprintf("%s from %s to %s", x$axes$label, shown(x$axes$lower), shown(x$axes$upper))
  tell("Domain: ", paste(ends, collapse = "; "))
  values <- x$columns[x$columns$role == "value", ]
  tell("Values: ", paste(values$name, values$label, sep = ", ", collapse = "; "))
  tell("Band: ", band_words(x))
  for (warning in x$words$warnings) tell("Warning: ", warning)
  invisible(x)
}

#' @rdname print.dpfda_release
#' @export
summary.dpfda_release <- function(object, ...) {
  made <- list(release = object, range = lapply(object$table, range, na.rm = TRUE))
  structure(made, class = "summary.dpfda_release")
}

#' @rdname print.dpfda_release
#' @export
print.summary.dpfda_release <- function(x, ...) {
  print(x$release)
  for (name in names(x$range)) {
    tell(sprintf("  %s: from %s to %s", name, shown(x$range[[name]][1]), shown(x$range[[name]][2])))
  }
  tell("To cite: ", x$release$words$citation)
  invisible(x)
}

#' A release as a data frame
#'
#' @param x A release, from [read_release()].
#' @param row.names,optional,... Not used.
#' @return A data frame: coordinates of the points, values, and `lower` and `upper` where the release has a
#'   band. Each column says what it is, with its unit, in its attribute `label`.
#' @examples
#' release <- read_release(system.file("extdata", "mean.json", package = "dpfda"))
#' frame <- as.data.frame(release)
#' attr(frame$value, "label")
#' @export
as.data.frame.dpfda_release <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_tabulated(x)
  x$table
}

band_words <- function(x) {
  if (is.null(x$band)) {
    return("none in this file")
  }
  where <- if (x$band$simultaneous) "everywhere at once" else "each point by itself"
  paste0(x$band$words, ", ", where, ", around ", x$band$around)
}

tell <- function(...) cat(strwrap(paste0(...), exdent = 2, width = 88), sep = "\n")

shown <- function(number) ifelse(is.na(number), "no limit", format(number, digits = 6, trim = TRUE))
