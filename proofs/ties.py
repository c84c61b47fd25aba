"""Which test of `tests/test_proofs.py` compares the program with what a theorem is about.

`CONSTANTS` stands for `constants.py`: the numbers of such theorems are read from the source of the
program, and nothing else of it is in them. `ANY` are theorems about whatever laws and events there are.
"""

from __future__ import annotations

CONSTANTS = "constants.py"
ANY = "any law"
TIES = {
    "test_clipping_is_the_one_that_is_proved": "Sensitivity.clip_in_box Sensitivity.clip_inside",
    "test_rounding_is_toward_zero_as_proved": "Sensitivity.toward_zero_no_larger",
    "test_repairs_are_those_that_are_proved": "Sensitivity.repaired_inside",
    "test_neighbours_are_as_far_apart_as_proved": """
        Sensitivity.l1_replace Sensitivity.l1_add Sensitivity.l2_replace Sensitivity.l2_add
        Sensitivity.box_replace Sensitivity.box_add Sensitivity.shares_apart""",
    "test_records_on_the_grid_add_what_is_proved": """
        Sensitivity.grid_inside Sensitivity.grid_projected""",
    "test_shares_of_a_unit_are_those_that_are_proved": "Sensitivity.shares_of_a_unit",
    "test_outer_products_move_as_proved": "Sensitivity.outer_replace Sensitivity.outer_add",
    "test_steps_of_descent_are_as_wide_as_proved": "Sensitivity.unit_in_a_step",
    "test_slopes_are_clipped_to_the_level_that_is_proved": "Sensitivity.rows_of_a_unit",
    "test_steps_of_descent_add_what_is_proved": """
        Sensitivity.gradient_of_a_row Descent.step_row_fits Descent.rounds_fit Descent.descent_fits""",
    "test_what_is_too_long_is_dropped_as_proved": "Descent.kept_fits",
    "test_rounds_of_calibration_add_what_is_proved": "Descent.calibration_row_fits",
    "test_rounds_of_hazards_add_what_is_proved": "Descent.hazards_fit",
    "test_the_width_of_several_steps_is_the_one_that_is_proved": """
        Sensitivity.root_up_enough Sensitivity.steps_fit""",
    "test_averages_of_a_unit_are_those_that_are_proved": "Averages.average_in_box",
    "test_averages_of_units_are_as_far_apart_as_proved": """
        Averages.averages_apart Averages.averages_replace Averages.averages_add""",
    "test_deviations_from_a_centre_are_those_that_are_proved": """
        Deviations.centred_replace Deviations.centred_add Deviations.centred_total""",
    "test_deviations_are_as_long_as_proved": """
        Deviations.reach_holds Deviations.reach_attained Deviations.deviation_length""",
    "test_pairs_of_units_are_those_that_are_proved": """
        Deviations.pairs_replace Deviations.pair_length Deviations.paired_outer_replace""",
    "test_units_are_divided_among_corners_as_proved": """
        Corners.floored_weights Corners.corner_weights Corners.corner_entries""",
    "test_tables_of_corners_move_as_proved": "Corners.corners_replace Corners.corners_add",
    "test_the_scale_of_a_number_of_units_is_the_one_that_is_proved": """
        Corners.cylinder_add Corners.count_scale_enough""",
    "test_channels_are_side_by_side_as_proved": "Corners.channels_in_box",
    "test_scales_of_a_box_are_those_that_are_proved": "Corners.one_box_replace Corners.one_box_add",
    "test_shares_in_parts_are_as_far_apart_as_proved": "Corners.parts_replace",
    "test_totals_with_weights_are_those_that_are_proved": """
        Weights.weighed_box Weights.weighed_l1 Weights.weighed_l2 Weights.width_below""",
    "test_scores_of_quantiles_have_the_range_that_is_proved": """
        Scores.score_replaced Scores.score_added""",
    "test_weights_of_quantiles_follow_the_score_that_is_proved": """
        Laws.weights_to_chances Laws.integer_weights""",
    "test_the_density_of_laplace_noise_is_the_one_that_is_proved": """
        Laws.rounded_laplace Laws.k_norm_ratio""",
    "test_the_loss_of_laplace_noise_is_the_one_that_is_proved": """
        Laws.laplace_vector Laws.laplace_is_pure""",
    "test_symmetric_laws_lose_what_is_proved": "Laws.symmetric_laws",
    "test_geometric_numbers_are_drawn_as_proved": "Shares.floors_are_geometric",
    "test_shares_of_laplace_noise_are_drawn_as_proved": """
        Shares.poisson_chances Shares.least_number_is_poisson Shares.sizes_given_a_ratio
        Shares.sizes_are_logarithmic Whole.least_number_exists""",
    "test_the_laws_of_shares_are_those_that_are_proved": """
        Shares.drawn_share Shares.shares_add Shares.shares_are_geometric
        Shares.difference_is_two_sided""",
    "test_the_loss_of_shares_is_the_one_that_is_proved": """
        Shares.two_sided_ratio Shares.shares_lose Shares.shared_noise_ratio Shares.drawn_shares_lose""",
    "test_discrete_gaussian_numbers_are_taken_as_proved": """
        Shares.gaussian_by_rejection Shares.first_taken""",
    "test_discrete_gaussian_numbers_have_the_chances_that_are_proved": """
        Whole.rounds_end Whole.drawn_gaussian Whole.gaussian_adds_up Whole.shared_noise_adds_up
        Whole.two_sided_adds_up""",
    "test_sums_around_a_place_are_as_flat_as_proved": """
        Theta.sums_multiply Theta.around_is_largest Theta.around_is_smallest
        Theta.difference_is_small Theta.around_is_flat""",
    "test_sums_of_gaussian_shares_are_as_close_as_proved": """
        Lattice.sums_add_up Gaussians.two_gaussians Gaussians.gaussian_shares_are_close""",
    "test_discrete_gaussian_numbers_lose_what_is_proved": "Gaussians.gaussian_is_concentrated",
    "test_what_a_gap_costs_is_no_less_than_what_it_takes": """
        Gap.close_is_concentrated Gap.roots_of_rho Gap.shares_are_concentrated""",
    "test_the_gap_of_gaussian_shares_is_the_one_that_is_proved": "Gap.shared_gaussians_lose",
    "test_normal_variables_are_those_that_are_proved": """
        Normal.normals_change Normal.normals_fill Normal.normals_are_normal""",
    "test_neighbours_of_the_other_kind_cost_what_is_proved": "Composition.replace_from_add",
    "test_delta_of_a_coin_is_the_excess_that_is_proved": "Composition.approximate_events",
    "test_amounts_add_up_and_are_compared_as_proved": """
        Composition.pure_composition Composition.basic_composition
        Composition.concentrated_composition Ledger.never_over""",
    "test_requests_are_refused_as_the_filter_that_is_proved": """
        Filter.filter_never_over Filter.filter_is_pure Filter.filter_is_concentrated""",
    "test_filters_of_a_delta_let_through_what_is_proved": """
        Filter.filter_holds Filter.filter_goes_one_way""",
    "test_ledgers_are_read_as_proved": """
        Ledger.noise_is_paid Ledger.a_kill_leaves_it_readable Ledger.losses_are_refused
        Ledger.a_charge_gets_through""",
    "test_digits_of_exact_products_have_the_room_that_is_proved": "Exact.digits_fit",
    "test_radii_are_those_that_are_proved_bit_for_bit": """
        Enclosures.sum_is_enclosed Enclosures.product_is_enclosed Enclosures.quotient_is_enclosed""",
    "test_radii_of_roots_are_those_that_are_proved_bit_for_bit": "Enclosures.root_is_enclosed",
    "test_pairs_of_floats_are_those_that_are_proved_bit_for_bit": """
        Twofold.sums_are_exact Twofold.products_are_exact Twofold.sum_of_pairs_is_enclosed
        Twofold.product_of_pairs_is_enclosed""",
    "test_radii_of_sums_of_many_are_those_that_are_proved_bit_for_bit": """
        Totals.sum_of_many_is_enclosed""",
    "test_sums_of_many_pairs_are_those_that_are_proved_bit_for_bit": """
        Totals.sum_of_many_pairs_is_enclosed""",
    "test_polynomials_are_those_that_are_proved_bit_for_bit": """
        Polynomials.log_polynomial Polynomials.log_of_two Polynomials.sine_polynomial
        Polynomials.cosine_polynomial""",
    "test_logarithms_are_those_that_are_proved_bit_for_bit": """
        Polynomials.mantissas_in_range Logarithm.logarithm_of_a_mantissa
        Logarithm.logarithm_of_a_float""",
    "test_cosines_and_sines_are_those_that_are_proved_bit_for_bit": """
        Turns.turns_of_a_float Turns.turns_are_enclosed""",
    "test_integers_of_any_size_are_enclosed_as_proved": """
        Numbers.integers_are_enclosed Numbers.integers_are_pairs""",
    "test_uniform_numbers_are_enclosed_as_proved": """
        Numbers.uniforms_are_enclosed Numbers.uniform_pairs_are_enclosed""",
    "test_pairs_are_scaled_as_proved": "Numbers.scaled_pairs_are_enclosed",
    "test_integers_are_decided_as_proved": """
        Numbers.nearest_is_determined Numbers.nearest_of_a_pair_is_determined""",
    "test_radii_of_logarithms_are_those_that_are_proved_bit_for_bit": "Products.log_is_enclosed",
    "test_radii_of_products_are_those_that_are_proved_bit_for_bit": """
        Products.product_of_factors_is_enclosed Products.logarithms_add_up""",
    "test_sums_that_are_rounded_once_are_those_that_are_proved_bit_for_bit": """
        Products.sum_rounded_once_is_enclosed""",
    "test_radii_of_all_doubles_are_those_that_are_proved": """
        Overflow.doubles_sum Overflow.doubles_product Overflow.doubles_quotient
        Overflow.doubles_root Ranges.doubles_log""",
    "test_radii_of_sums_of_all_doubles_are_those_that_are_proved": "Many.doubles_many",
    "test_pairs_of_all_doubles_are_those_that_are_proved": """
        Pairs.doubles_pair_sum Pairs.doubles_pair_product""",
    "test_quotients_of_pairs_hold_what_balls_do": "Pairs.balls_are_pairs",
    "test_functions_of_doubles_are_those_that_are_proved_bit_for_bit": """
        Ranges.doubles_log_float Ranges.doubles_turns""",
    "test_integers_of_all_doubles_are_decided_as_proved": "Ranges.doubles_nearest",
    "test_entries_of_any_size_are_clipped_as_proved": "Ranges.doubles_entry",
    CONSTANTS: """
        Exact.integers_are_floats Exact.float_sums_are_exact Exact.block_is_exact
        Exact.gradient_block_is_exact Exact.values_are_exact""",
    ANY: """
        Composition.pure_events Gaussians.close_vectors Gaussians.close_guarantee
        Whole.geometric_adds_up Whole.shares_add_up Whole.differences_add_up Whole.poisson_adds_up""",
}
