# Releases in the verbs of other packages: a tidy table, a picture of ggplot2, lines in a picture.

# The pronoun of ggplot2 for columns of the data.
utils::globalVariables(".data")

#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

#' A release as a tidy table
#'
#' `tidy()` gives one row for each value at each point; `glance()` one row for the release. They are methods
#' for the generics of package 'generics', as 'broom' has them.
#'
#' @param x A release, from [read_release()].
#' @param ... Not used.
#' @return `tidy`: a data frame with the coordinates, `term` (the column of the release), `estimate`, and
#'   `conf.low` and `conf.high` where the band is around it. `glance`: a data frame with `guarantee`,
#'   `epsilon`, `delta`, `rho`, `neighbours`, `unit` and `level`.
#' @examples
#' release <- read_release(system.file("extdata", "mean.json", package = "dpfda"))
#' head(tidy(release))
#' glance(release)
#' @export
tidy.dpfda_release <- function(x, ...) {
  check_tabulated(x)
  places <- lapply(x$table[x$axes$name], as.numeric)
  rows <- lapply(named(x, "value"), function(name) {
    around <- !is.null(x$band) && name == x$band$around
    missing <- rep(NA_real_, nrow(x$table))
    data.frame(
      places,
      term = name,
      estimate = as.numeric(x$table[[name]]),
      conf.low = if (around) as.numeric(x$table$lower) else missing,
      conf.high = if (around) as.numeric(x$table$upper) else missing,
      check.names = FALSE
    )
  })
  do.call(rbind, rows)
}

#' @rdname tidy.dpfda_release
#' @export
glance.dpfda_release <- function(x, ...) {
  number <- function(name) if (is.null(x$guarantee[[name]])) NA_real_ else as.numeric(x$guarantee[[name]])
  data.frame(
    guarantee = x$guarantee$words,
    epsilon = number("epsilon"),
    delta = number("delta"),
    rho = number("rho"),
    neighbours = x$neighbours,
    unit = x$unit,
    level = if (is.null(x$band)) NA_real_ else x$band$level
  )
}

#' A release as a picture of 'ggplot2'
#'
#' Lines with the band of a function of one variable, in a colour for each column; a raster for two.
#'
#' @param object A release, from [read_release()].
#' @param ... Not used.
#' @return A `ggplot`, with titles and axes as [plot.dpfda_release()] has them.
#' @examples
#' release <- read_release(system.file("extdata", "mean.json", package = "dpfda"))
#' if (requireNamespace("ggplot2", quietly = TRUE)) ggplot2::autoplot(release)
#' @exportS3Method ggplot2::autoplot
autoplot.dpfda_release <- function(object, ...) {
  if (nrow(object$axes) > 2) {
    stop("functions of more than two variables cannot be drawn", call. = FALSE)
  }
  frame <- tidy.dpfda_release(object)
  said <- ggplot2::labs(title = broken(object$words$title), subtitle = broken(object$words$promise),
                        x = object$axes$label[1])
  axis <- function(i) as.name(object$axes$name[i])
  if (nrow(object$axes) == 2) {
    return(
      ggplot2::ggplot(frame, ggplot2::aes(x = !!axis(1), y = !!axis(2), fill = .data$estimate)) +
        ggplot2::geom_raster() + ggplot2::facet_wrap(ggplot2::vars(.data$term)) + said +
        ggplot2::labs(y = object$axes$label[2], fill = NULL)
    )
  }
  # Columns of other units than the first are left out, as in plot().
  labels <- object$columns$label[object$columns$role == "value"]
  same <- named(object, "value")[startsWith(labels, labels[1])]
  frame <- frame[frame$term %in% c(same, object$band$around), ]
  drawn <- ggplot2::ggplot(frame, ggplot2::aes(x = !!axis(1), y = .data$estimate, colour = .data$term))
  if (!is.null(object$band)) {
    banded <- frame[frame$term == object$band$around, ]
    ends <- ggplot2::aes(ymin = .data$conf.low, ymax = .data$conf.high)
    drawn <- drawn + if (object$between == "nothing") {
      ggplot2::geom_errorbar(ends, data = banded, width = 0)
    } else {
      # Grey: of which line it is the caption says.
      ggplot2::geom_ribbon(ends, data = banded, alpha = 0.25, colour = NA, show.legend = FALSE)
    }
  }
  drawn + (if (object$between == "nothing") ggplot2::geom_point() else ggplot2::geom_line()) + said +
    ggplot2::labs(y = labels[1], colour = NULL,
                  caption = if (!is.null(object$band)) broken(band_words(object)))
}

#' Add a release to a picture
#'
#' @param x A release of one variable, from [read_release()].
#' @param column Name of the column, where there are several.
#' @param band Whether its band is drawn, too, where it has one around that column.
#' @param col Colour.
#' @param ... Further arguments of [graphics::lines()].
#' @return The release, invisibly.
#' @examples
#' release <- read_release(system.file("extdata", "mean.json", package = "dpfda"))
#' plot(release)
#' lines(release, col = "red", lty = 2)
#' @export
lines.dpfda_release <- function(x, column = NULL, band = FALSE, col = 2, ...) {
  check_tabulated(x)
  if (nrow(x$axes) != 1) {
    stop("only functions of one variable are lines", call. = FALSE)
  }
  name <- chosen_column(x, column)
  at <- as.numeric(x$table[[x$axes$name]])
  if (band && !is.null(x$band) && name == x$band$around) {
    draw_band(at, x$table$lower, x$table$upper, col, x$between == "nothing")
  }
  graphics::lines(at, x$table[[name]], col = col, ...)
  invisible(x)
}
