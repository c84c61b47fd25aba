(** Sums of logarithms of uniform numbers (`numerics/enclosures.py`): several under one logarithm, the radius of
    the product, of its logarithm and of the sum. Overflow is as in Enclosures.v. *)

From Coq Require Import ZArith Reals Lra Lia Psatz List Permutation.
From Flocq Require Import Core Relative.
From Proofs Require Import Constants FloatConstants Exact Enclosures Totals Logarithm.
Import ListNotations.
Open Scope R_scope.

(** What a product of floats may be off by, relative to itself, from the sum of its factors' relative radii; and
    its radius. *)
Definition factors_error (relatives : R) : R :=
  rounded (relatives + rounded (IZR factors * unit_roundoff)).
Definition factors_radius (product relatives : R) : R :=
  outward (rounded (rounded (product * factors_error relatives) * product_relative)).

(** Radii of a logarithm that is computed, and of a sum that is rounded once. *)
Definition log_radius (x r logarithm : R) : R :=
  outward (rounded (rounded (rounded (r / rounded (x - r)) * relative) + rounded (log_error * Rabs logarithm))).
Definition once_radius (total radii : R) : R :=
  outward (rounded (radii + rounded (unit_roundoff * Rabs total))).

(** Multiplications in any order. Each factor with its middle, radius and value. *)
Inductive factors_tree := Factor (n : number) | Times (a b : factors_tree).
Fixpoint multiplied (t : factors_tree) : R :=
  match t with Factor n => middle n | Times a b => rounded (multiplied a * multiplied b) end.
Fixpoint all_factors (t : factors_tree) : list number :=
  match t with Factor n => [n] | Times a b => all_factors a ++ all_factors b end.
Definition real_product (numbers : list R) : R := fold_right Rmult 1 numbers.

(** Factors are at least 2^-64. *)
Definition factor_known (n : number) : Prop := known n /\ bpow radix2 (-64) <= middle n.
Definition ratio_of (n : number) : R := radius n / middle n.

Lemma real_product_app : forall a b, real_product (a ++ b) = real_product a * real_product b.
Proof.
  induction a; intros b; simpl; [ring|]. fold (real_product (a0 ++ b)) (real_product a0). rewrite IHa. ring.
Qed.

Lemma some_factor : forall t, (1 <= length (all_factors t))%nat.
Proof. induction t; simpl; [lia|]. rewrite app_length. lia. Qed.

(** One rounding of a product that does not underflow. *)
Lemma one_product : forall x, bpow radix2 (-1022) <= x -> x * (1 - u) <= rounded x <= x * (1 + u).
Proof.
  intros x X. pose proof (bpow_gt_0 radix2 (-1022)).
  destruct (relative_error_N_FLT_ex radix2 (-1074) 53 ltac:(lia) (fun n => negb (Z.even n)) x) as [e [E Eq]].
  { rewrite Rabs_right by lra. exact X. }
  change (rounded x = x * (1 + e)) in Eq. rewrite Eq.
  replace (/ 2 * bpow radix2 (- (53) + 1)) with u in E by (simpl; unfold u; lra).
  apply Rabs_le_inv in E. nra.
Qed.

Lemma ratios_not_negative : forall l, Forall factor_known l -> 0 <= real_sum (map ratio_of l).
Proof.
  intros l F. apply real_sum_not_negative, Forall_map, Forall_impl with (2 := F).
  intros n [[_ [_ E]] L]. pose proof (bpow_gt_0 radix2 (-64)). unfold ratio_of.
  apply Rmult_le_pos; [apply Rle_trans with (2 := E), Rabs_pos|left; apply Rinv_0_lt_compat; lra].
Qed.

(** The real product and the one in floats are as close as all relative radii and a unit for each
    multiplication say. *)
Lemma products_are_close : forall t, Forall factor_known (all_factors t) ->
  (Z.of_nat (length (all_factors t)) <= factors)%Z ->
  let s := real_sum (map ratio_of (all_factors t)) + (INR (length (all_factors t)) - 1) * u in
  let x := real_product (map value (all_factors t)) in
  s <= / 2 -> 0 < x /\ bpow radix2 (-65 * Z.of_nat (length (all_factors t))) <= multiplied t /\
  (1 - s) * multiplied t <= x /\ (1 - s) * x <= multiplied t.
Proof.
  assert (U : 0 < u < / 2) by (unfold u; lra).
  induction t as [n|a IHa b IHb]; intros F C s x S; subst s x.
  - inversion F as [|? ? [[_ [_ E]] L] _]. subst. simpl in *. unfold encloses in E. unfold ratio_of in *.
    pose proof (bpow_gt_0 radix2 (-64)) as P.
    set (m := middle n) in *. set (r := radius n) in *. set (v := value n) in *.
    assert (R0 : 0 <= r) by (apply Rle_trans with (2 := E), Rabs_pos).
    assert (R1 : r / m * m = r) by (field; lra). set (q := r / m) in *.
    assert (Q0 : 0 <= q) by (unfold q; apply Rmult_le_pos; [exact R0|left; apply Rinv_0_lt_compat; lra]).
    apply Rabs_le_inv in E. replace (q + 0 + (1 - 1) * u) with q in * by ring.
    assert (bpow radix2 (-65) <= bpow radix2 (-64)) by (apply bpow_le; lia).
    rewrite Rmult_1_r.
    repeat split; [nra|lra|nra|]. assert (v <= m * (1 + q)) by nra. nra.
  - cbn [all_factors multiplied] in *. apply Forall_app in F as [Fa Fb].
    rewrite app_length, Nat2Z.inj_add in C. rewrite map_app, map_app, real_sum_app, real_product_app, app_length in *.
    rewrite plus_INR in *.
    pose proof (le_INR _ _ (some_factor a)) as Ca. pose proof (le_INR _ _ (some_factor b)) as Cb. simpl (INR 1) in *.
    pose proof (some_factor a) as Ka. pose proof (some_factor b) as Kb.
    pose proof (ratios_not_negative _ Fa) as Ra. pose proof (ratios_not_negative _ Fb) as Rb.
    set (ra := real_sum (map ratio_of (all_factors a))) in *. set (rb := real_sum (map ratio_of (all_factors b))) in *.
    set (ca := INR (length (all_factors a))) in *. set (cb := INR (length (all_factors b))) in *.
    assert (Ha : 0 <= (ca - 1) * u) by (apply Rmult_le_pos; lra).
    assert (Hb : 0 <= (cb - 1) * u) by (apply Rmult_le_pos; lra).
    destruct (IHa Fa ltac:(lia) ltac:(lra)) as [Xa [La [A1 A2]]].
    destruct (IHb Fb ltac:(lia) ltac:(lra)) as [Xb [Lb [B1 B2]]].
    set (na := Z.of_nat (length (all_factors a))) in *. set (nb := Z.of_nat (length (all_factors b))) in *.
    set (ma := multiplied a) in *. set (mb := multiplied b) in *.
    pose proof (bpow_gt_0 radix2 (-65 * na)) as Pa. pose proof (bpow_gt_0 radix2 (-65 * nb)) as Pb.
    assert (Low : bpow radix2 (-65 * (na + nb)) <= ma * mb).
    { replace (-65 * (na + nb))%Z with (-65 * na + -65 * nb)%Z by ring. rewrite bpow_plus.
      apply Rmult_le_compat; lra. }
    assert (Big : bpow radix2 (-1022) <= bpow radix2 (-65 * (na + nb))).
    { apply bpow_le. unfold factors in C. lia. }
    pose proof (one_product (ma * mb) ltac:(lra)) as One. rewrite Nat2Z.inj_add. fold na nb.
    assert (Fl : is_float (bpow radix2 (-65 * (na + nb)))).
    { apply generic_format_bpow. unfold float64, FLT_exp. unfold factors in C. lia. }
    set (sa := ra + (ca - 1) * u) in *. set (sb := rb + (cb - 1) * u) in *.
    replace (ra + rb + (ca + cb - 1) * u) with (sa + sb + u) in * by (unfold sa, sb; ring).
    set (xa := real_product (map value (all_factors a))) in *.
    set (xb := real_product (map value (all_factors b))) in *.
    assert (Sa : 0 <= sa) by (unfold sa; lra). assert (Sb : 0 <= sb) by (unfold sb; lra).
    assert (G : 1 - (sa + sb + u) <= (1 - sa) * (1 - sb) * (1 - u)).
    { assert (0 <= sa * sb) by nra. assert (0 <= 1 - u) by lra.
      apply Rle_trans with ((1 - sa - sb) * (1 - u)); [nra|]. apply Rmult_le_compat_r; lra. }
    split; [apply Rmult_lt_0_compat; assumption|].
    split.
    { apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|exact Fl|exact Low]. }
    set (m := rounded (ma * mb)) in *. assert (M : 0 < ma * mb) by (apply Rmult_lt_0_compat; lra).
    assert (M0 : 0 <= m) by (destruct One as [O _]; assert (0 <= ma * mb * (1 - u)) by (apply Rmult_le_pos; lra); lra).
    assert (X : 0 < xa * xb) by (apply Rmult_lt_0_compat; assumption).
    split.
    + apply Rle_trans with ((1 - sa) * (1 - sb) * (1 - u) * m); [apply Rmult_le_compat_r; assumption|].
      apply Rle_trans with (((1 - sa) * ma) * ((1 - sb) * mb)).
      * assert (m * (1 - u) <= ma * mb).
        { apply Rle_trans with (ma * mb * (1 + u) * (1 - u)); [apply Rmult_le_compat_r; lra|]. nra. }
        replace ((1 - sa) * (1 - sb) * (1 - u) * m) with ((1 - sa) * (1 - sb) * (m * (1 - u))) by ring.
        replace ((1 - sa) * ma * ((1 - sb) * mb)) with ((1 - sa) * (1 - sb) * (ma * mb)) by ring.
        apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|assumption].
      * apply Rmult_le_compat; try assumption; apply Rmult_le_pos; lra.
    + apply Rle_trans with ((1 - sa) * (1 - sb) * (1 - u) * (xa * xb)); [apply Rmult_le_compat_r; lra|].
      apply Rle_trans with (ma * mb * (1 - u)); [|apply One].
      replace ((1 - sa) * (1 - sb) * (1 - u) * (xa * xb)) with (((1 - sa) * xa) * ((1 - sb) * xb) * (1 - u)) by ring.
      apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat; try assumption; apply Rmult_le_pos; lra.
Qed.

(** The product of so many factors, where the error that is computed is below the largest: its radius holds
    the real product. *)
Theorem product_of_factors_is_enclosed : forall t relatives, Forall factor_known (all_factors t) ->
  Z.of_nat (length (all_factors t)) = factors ->
  Permutation (leaves relatives) (map (fun n => rounded (radius n / middle n)) (all_factors t)) ->
  factors_error (in_floats relatives) < largest_error ->
  0 < real_product (map value (all_factors t)) /\
  encloses (multiplied t) (factors_radius (multiplied t) (in_floats relatives))
    (real_product (map value (all_factors t))).
Proof.
  intros t relatives F C P Small.
  assert (Fr : Forall is_float (leaves relatives)).
  { apply Permutation_Forall with (1 := Permutation_sym P), Forall_map, Forall_forall. intros.
    apply rounded_is_float. }
  assert (Nr : Forall (Rle 0) (leaves relatives)).
  { apply Permutation_Forall with (1 := Permutation_sym P), Forall_map, Forall_impl with (2 := F).
    intros n [[_ [_ E]] L]. pose proof (bpow_gt_0 radix2 (-64)). apply rounded_not_negative.
    apply Rmult_le_pos; [apply Rle_trans with (2 := E), Rabs_pos|left; apply Rinv_0_lt_compat; lra]. }
  destruct (sum_is_low relatives Fr Nr) as [N0 Low].
  assert (L : length (leaves relatives) = length (all_factors t)) by (rewrite (Permutation_length P); apply map_length).
  assert (Eight : INR (length (all_factors t)) = IZR factors) by (rewrite INR_IZR_INZ, C; reflexivity).
  rewrite L, Eight, (real_sum_permuted _ _ P) in Low.
  pose proof tiny_positive as Tiny.
  assert (Each : real_sum (map ratio_of (all_factors t)) * (1 - u) - INR (length (all_factors t)) * tiny
    <= real_sum (map (fun n => rounded (radius n / middle n)) (all_factors t))).
  { clear -F. induction F as [|n l [[_ [_ E]] B] _ IH]; simpl length; [simpl; lra|]. rewrite S_INR. simpl.
    fold (real_sum (map ratio_of l)) (real_sum (map (fun n => rounded (radius n / middle n)) l)).
    pose proof (bpow_gt_0 radix2 (-64)). unfold ratio_of at 1.
    assert (0 <= radius n / middle n).
    { apply Rmult_le_pos; [apply Rle_trans with (2 := E), Rabs_pos|left; apply Rinv_0_lt_compat; lra]. }
    pose proof (rounded_low _ H0). lra. }
  rewrite Eight in Each. pose proof (ratios_not_negative _ F) as R0.
  set (rho := real_sum (map ratio_of (all_factors t))) in *.
  set (rel := real_sum (map (fun n => rounded (radius n / middle n)) (all_factors t))) in *.
  set (fr := in_floats relatives) in *.
  assert (Frf : is_float fr) by (apply tree_is_float, Fr).
  assert (Unit : rounded (IZR factors * unit_roundoff) = IZR factors * u).
  { assert (unit_roundoff = u) as -> by (unfold unit_roundoff, u; lra).
    apply round_generic; [apply valid_rnd_N|]. unfold factors.
    apply generic_format_FLT. exists (Float radix2 8 (-53)); [|simpl; lia|simpl; lia].
    unfold F2R, u. simpl. lra. }
  assert (Ti : tiny <= u / 1000000).
  { unfold tiny, u. apply Rle_trans with (bpow radix2 (-90)); [apply bpow_le; lia|]. simpl bpow. lra. }
  pose proof (addition_low fr (rounded (IZR factors * unit_roundoff)) Frf (rounded_is_float _)) as Add.
  fold (factors_error fr) in Add. rewrite Unit in Add. specialize (Add ltac:(unfold factors, u; lra)).
  set (error := factors_error fr) in *.
  set (s := rho + (IZR factors - 1) * u).
  assert (Enough : s <= error * (1 + 20 * u)).
  { assert (rho * (1 - 9 * u) - 9 * tiny <= fr).
    { apply Rle_trans with (2 := Low). unfold factors in *. unfold u in *. nra. }
    unfold s. unfold factors, u in *. lra. }
  assert (S0 : 0 <= s) by (unfold s, factors, u; lra).
  assert (S1 : s <= 1 / 1000) by (unfold largest_error, u in *; lra).
  pose proof (products_are_close t F ltac:(lia)) as Close. cbv zeta in Close.
  fold rho in Close. rewrite Eight in Close. fold s in Close.
  destruct (Close ltac:(lra)) as [X [Low' [B1 B2]]].
  split; [exact X|]. set (x := real_product (map value (all_factors t))) in *. set (m := multiplied t) in *.
  pose proof (bpow_gt_0 radix2 (-65 * Z.of_nat (length (all_factors t)))) as Pm.
  unfold encloses. apply Rle_trans with (m * (s * (1 + / 500))).
  { assert (x <= m * (1 + s * (1 + / 500))).
    { apply Rmult_le_reg_l with (1 - s); [lra|]. apply Rle_trans with (1 := B2).
      assert (1 <= (1 - s) * (1 + s * (1 + / 500))) by nra. nra. }
    apply Rabs_le. split; [|lra]. assert (0 <= m * s) by nra. lra. }
  assert (E0 : 0 <= error) by (unfold u in *; lra).
  assert (M0 : 0 <= m * error) by (apply Rmult_le_pos; lra).
  pose proof (rounded_low _ M0) as L1. pose proof (rounded_not_negative _ M0) as N1.
  assert (N2 : 0 <= rounded (m * error) * product_relative) by (apply Rmult_le_pos; [lra|unfold product_relative; lra]).
  pose proof (rounded_low _ N2) as L2.
  unfold factors_radius. fold error.
  apply outward_holds; [apply rounded_is_float|apply rounded_not_negative, N2|apply Rmult_le_pos; lra|].
  apply Rle_trans with (2 := L2).
  assert (Me : m * s <= m * error * (1 + 20 * u)).
  { rewrite Rmult_assoc. apply Rmult_le_compat_l; lra. }
  set (z := rounded (m * error)) in *. set (w := m * error) in *. set (ms := m * s) in *.
  replace (m * (s * (1 + / 500))) with (ms * (1 + / 500)) by (unfold ms; ring).
  clearbody z w ms. clear - Me L1 N1 M0 Tiny. unfold product_relative, u in *. lra.
Qed.

(** * The logarithm of an enclosure *)

Lemma logarithms_move : forall x m r, 0 < m - r -> Rabs (x - m) <= r -> 0 < x /\ Rabs (ln x - ln m) <= r / (m - r).
Proof.
  intros x m r D E. pose proof (Rabs_pos (x - m)) as P. pose proof (Rabs_le_inv _ _ E) as B.
  assert (X : 0 < x) by lra. split; [exact X|].
  assert (Up : forall a b, 0 < a -> 0 < b -> ln a - ln b <= (a - b) / b).
  { clear. intros a b A B. assert (L : ln (a / b) <= a / b - 1).
    { destruct (Req_dec (a / b) 1) as [->|N]; [rewrite ln_1; lra|].
      assert (Q : 0 < a / b) by (apply Rdiv_lt_0_compat; lra).
      pose proof (exp_ineq1_le (ln (a / b))) as Ex. rewrite exp_ln in Ex by exact Q. lra. }
    unfold Rdiv at 1 in L. rewrite ln_mult, ln_Rinv in L by (try apply Rinv_0_lt_compat; lra).
    replace ((a - b) / b) with (a / b - 1) by (field; lra). lra. }
  assert (Most : forall a b, m - r <= b -> 0 < b -> Rabs a <= r -> a / b <= r / (m - r)).
  { intros a b L Pb A. apply Rle_trans with (Rabs a / b).
    - apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, Pb|apply Rle_abs].
    - apply Rmult_le_compat; [apply Rabs_pos|left; apply Rinv_0_lt_compat, Pb|exact A|apply Rinv_le_contravar; lra]. }
  apply Rabs_le. split.
  - pose proof (Up m x ltac:(lra) X) as U1. pose proof (Most (m - x) x ltac:(lra) X) as U2.
    rewrite Rabs_minus_sym in U2. specialize (U2 E). lra.
  - pose proof (Up x m X ltac:(lra)) as U1. pose proof (Most (x - m) m ltac:(lra) ltac:(lra) E). lra.
Qed.

Theorem log_is_enclosed : forall m e r x, is_float m -> root_half <= m <= 2 * root_half -> (Z.abs e <= 1100)%Z ->
  is_float (m * bpow radix2 e) -> is_float r -> 0 < rounded (m * bpow radix2 e - r) ->
  encloses (m * bpow radix2 e) r x ->
  encloses (log_float m e) (log_radius (m * bpow radix2 e) r (log_float m e)) (ln x).
Proof.
  intros m e r x M H E Fx R Least X. pose proof (logarithm_of_a_float m e M H E) as L.
  set (p := m * bpow radix2 e) in *. set (l := log_float m e) in *. unfold encloses in *.
  assert (P : 0 <= r) by (apply Rle_trans with (2 := X); apply Rabs_pos).
  pose proof tiny_positive as Tiny. set (least := rounded (p - r)) in *.
  assert (D : 0 < p - r).
  { apply Rnot_le_lt. intros N. assert (least <= 0); [|lra].
    apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply generic_format_0|lra]. }
  assert (Ll : least <= (p - r) * (1 + 2 * u)).
  { unfold least, Rminus. destruct (one_addition p (- r) Fx (generic_format_opp _ _ _ R)) as [d [Ed Eq]].
    rewrite Eq. apply Rabs_le_inv in Ed. unfold u in *. nra. }
  destruct (logarithms_move x p r D X) as [_ Move].
  set (y := ln p) in *. set (q := r / (p - r)) in *.
  assert (Q0 : 0 <= q) by (apply Rmult_le_pos; [exact P|left; apply Rinv_0_lt_compat, D]).
  assert (Le : 0 <= log_error <= 100 * u) by (unfold log_error, u; lra).
  assert (Self : Rabs (l - y) <= log_error * Rabs l * (1 + 11 * u)).
  { assert (T : Rabs y <= Rabs l + Rabs (l - y)).
    { replace y with (l + - (l - y)) at 1 by ring. pose proof (Rabs_triang l (- (l - y))) as T.
      rewrite Rabs_Ropp in T. exact T. }
    pose proof (Rabs_pos l). pose proof (Rabs_pos y). unfold log_error, u in *. lra. }
  apply Rle_trans with (q + log_error * Rabs l * (1 + 11 * u)).
  { replace (ln x - l) with ((ln x - y) + - (l - y)) by ring.
    pose proof (Rabs_triang (ln x - y) (- (l - y))) as T. rewrite Rabs_Ropp in T. lra. }
  assert (Ql : q * (1 - 2 * u) <= r / least).
  { apply Rmult_le_reg_r with least; [exact Least|]. replace (r / least * least) with r by (field; lra).
    apply Rle_trans with (q * (1 - 2 * u) * ((p - r) * (1 + 2 * u))).
    - apply Rmult_le_compat_l; [|exact Ll]. apply Rmult_le_pos; [exact Q0|unfold u; lra].
    - replace (q * (1 - 2 * u) * ((p - r) * (1 + 2 * u))) with (r * ((1 - 2 * u) * (1 + 2 * u)))
        by (unfold q; field; lra). unfold u. nra. }
  assert (A0 : 0 <= r / least) by (apply Rle_trans with (2 := Ql), Rmult_le_pos; [exact Q0|unfold u; lra]).
  pose proof (rounded_low _ A0) as A1. pose proof (rounded_not_negative _ A0) as A2.
  assert (B0 : 0 <= rounded (r / least) * relative) by (apply Rmult_le_pos; [exact A2|unfold relative; lra]).
  pose proof (rounded_low _ B0) as B1. pose proof (rounded_not_negative _ B0) as B2.
  assert (C0 : 0 <= log_error * Rabs l) by (apply Rmult_le_pos; [lra|apply Rabs_pos]).
  pose proof (rounded_low _ C0) as C1. pose proof (rounded_not_negative _ C0) as C2.
  pose proof (addition_low _ _ (rounded_is_float (rounded (r / least) * relative))
    (rounded_is_float (log_error * Rabs l)) ltac:(lra)) as S.
  unfold log_radius. fold least.
  set (cl := log_error * Rabs l) in *.
  apply outward_holds; [apply rounded_is_float|apply rounded_not_negative; lra| |].
  - unfold u in *. lra.
  - apply Rle_trans with (2 := S). set (a := rounded (r / least)) in *. set (b := rounded (a * relative)) in *.
    set (c := rounded cl) in *. set (ql := r / least) in *. clearbody a b c cl q ql.
    clear - Ql A1 B1 C1 Q0 C0 Tiny. unfold relative, u in *. lra.
Qed.

(** * Sums that are rounded once (`math.fsum`) *)

Theorem sum_rounded_once_is_enclosed : forall numbers, Forall known numbers ->
  let total := rounded (real_sum (map middle numbers)) in
  encloses total (once_radius total (rounded (real_sum (map radius numbers)))) (real_sum (map value numbers)).
Proof.
  intros numbers K total. unfold encloses.
  assert (R0 : 0 <= real_sum (map radius numbers)).
  { apply real_sum_not_negative, Forall_map, Forall_impl with (2 := K).
    intros n [_ [_ E]]. apply Rle_trans with (2 := E), Rabs_pos. }
  assert (Apart : Rabs (real_sum (map value numbers) - real_sum (map middle numbers)) <= real_sum (map radius numbers)).
  { clear -K. induction K as [|n l [_ [_ E]] _ IH]; simpl; [rewrite Rminus_0_r, Rabs_R0; lra|].
    fold (real_sum (map value l)) (real_sum (map middle l)) (real_sum (map radius l)). unfold encloses in E.
    replace (value n + real_sum (map value l) - (middle n + real_sum (map middle l)))
      with ((value n - middle n) + (real_sum (map value l) - real_sum (map middle l))) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _). lra. }
  pose proof (rounding_error (real_sum (map middle numbers))) as E. fold total in E.
  set (x := real_sum (map value numbers)) in *. set (y := real_sum (map middle numbers)) in *.
  set (r := real_sum (map radius numbers)) in *. pose proof tiny_positive as Tiny. pose proof (Rabs_pos total) as T0.
  apply Rle_trans with (r + u * Rabs total + 2 * tiny).
  { replace (x - total) with ((x - y) + - (total - y)) by ring.
    pose proof (Rabs_triang (x - y) (- (total - y))) as T. rewrite Rabs_Ropp in T. lra. }
  pose proof (rounded_low _ R0) as A. pose proof (rounded_not_negative _ R0) as A0.
  pose proof (unit_term total) as B.
  assert (B0 : 0 <= rounded (unit_roundoff * Rabs total)).
  { apply rounded_not_negative. apply Rmult_le_pos; [|lra]. pose proof unit_is_u. unfold u in *. lra. }
  pose proof (addition_low _ _ (rounded_is_float r) (rounded_is_float (unit_roundoff * Rabs total)) ltac:(lra)) as C.
  unfold once_radius. apply outward_holds; [apply rounded_is_float|apply rounded_not_negative; lra| |].
  - unfold u. lra.
  - apply Rle_trans with (2 := C). unfold u in *. lra.
Qed.

(** The logarithm of a product is the sum of logarithms. *)
Theorem logarithms_add_up : forall numbers, Forall (Rlt 0) numbers ->
  0 < real_product numbers /\ ln (real_product numbers) = real_sum (map ln numbers).
Proof.
  induction 1 as [|x l X _ [P E]]; simpl; [split; [lra|apply ln_1]|].
  fold (real_product l) (real_sum (map ln l)). split; [apply Rmult_lt_0_compat; assumption|].
  rewrite ln_mult, E by assumption. reflexivity.
Qed.
