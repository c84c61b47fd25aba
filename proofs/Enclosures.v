(** Operations on enclosures (`numerics/enclosures.py`): the radius that is computed in floats holds the
    real result, for all doubles.

    Where a result overflows, the program's radius is infinite or no number, and nothing is claimed; all
    statements here are of floats without a largest one. *)

From Coq Require Import ZArith Reals Lra Psatz.
From Flocq Require Import Core Relative Plus_error.
From Proofs Require Import FloatConstants Exact.
Open Scope R_scope.

(** A float64. *)
Definition is_float (x : R) : Prop := generic_format radix2 float64 x.

(** A real number within a radius of a middle. *)
Definition encloses (middle radius x : R) : Prop := Rabs (x - middle) <= radius.

(** A radius that also covers the roundings made in computing it. *)
Definition outward (radius : R) : R := rounded (rounded (radius * relative) + absolute).

(** Radii of sum, product and square root, each operation rounded, in the order of the program. *)
Definition sum_radius (m1 r1 m2 r2 : R) : R :=
  outward (rounded (rounded (r1 + r2) + rounded (unit_roundoff * Rabs (rounded (m1 + m2))))).
Definition product_radius (m1 r1 m2 r2 : R) : R :=
  outward (rounded (rounded (rounded (Rabs m1 * r2) + rounded (r1 * rounded (Rabs m2 + r2)))
    + rounded (unit_roundoff * Rabs (rounded (m1 * m2))))).
Definition root_radius (m r : R) : R :=
  outward (rounded (rounded (r / rounded (sqrt m)) + rounded (unit_roundoff * rounded (sqrt m)))).

Definition quotient_radius (m1 r1 m2 r2 : R) : R :=
  let carried := rounded (r1 + rounded (outward (Rabs (rounded (m1 / m2))) * r2)) in
  outward (rounded (rounded (outward carried / rounded (m2 - r2))
    + rounded (2 * unit_roundoff * Rabs (rounded (m1 / m2))))).

(** * One rounding *)

#[local] Instance precision : Prec_gt_0 53 := eq_refl.

(** u, and the largest error of a subnormal result. *)
Definition u : R := / 9007199254740992.
Definition tiny : R := bpow radix2 (-1075).

Lemma tiny_positive : 0 < tiny.
Proof. apply bpow_gt_0. Qed.

Lemma tiny_in_absolute : 1000 * tiny <= absolute.
Proof.
  unfold absolute, tiny. change (bpow radix2 (-1075)) with (/ IZR (2 ^ 1075)).
  apply Rmult_le_reg_r with (IZR (2 ^ 1075)); [apply IZR_lt; reflexivity|].
  rewrite Rmult_assoc, Rinv_l by (apply IZR_neq; discriminate).
  match goal with |- _ <= IZR ?p / IZR ?q * _ =>
    apply Rmult_le_reg_r with (IZR q); [apply IZR_lt; reflexivity|];
    replace (IZR p / IZR q * IZR (2 ^ 1075) * IZR q) with (IZR p * IZR (2 ^ 1075))
      by (field; apply IZR_neq; discriminate) end.
  rewrite Rmult_1_r, <- !mult_IZR. apply IZR_le. vm_compute. discriminate.
Qed.

Lemma unit_is_u : u <= unit_roundoff.
Proof. unfold unit_roundoff, u. lra. Qed.

Lemma u_ro_is_u : u_ro radix2 53 = u.
Proof. unfold u_ro. simpl bpow. unfold u. lra. Qed.

Lemma one_rounding : forall x, exists e t, Rabs e <= u / (1 + u) /\ Rabs t <= tiny
  /\ rounded x = x * (1 + e) + t.
Proof.
  intros x. destruct (relative_error_N_FLT'_ex radix2 (-1074) 53 eq_refl (fun n => negb (Z.even n)) x)
    as [e [t [E [T [_ Eq]]]]].
  exists e, t. rewrite u_ro_is_u in E. split; [exact E|]. split; [|exact Eq].
  apply Rle_trans with (1 := T). unfold tiny.
  change (bpow radix2 (-1075)) with (bpow radix2 (-1 + -1074)). rewrite bpow_plus.
  right. simpl. lra.
Qed.

Lemma one_addition : forall x y, is_float x -> is_float y -> exists e, Rabs e <= u / (1 + u)
  /\ rounded (x + y) = (x + y) * (1 + e).
Proof.
  intros x y X Y. destruct (FLT_plus_error_N_ex radix2 (-1074) 53 (fun n => negb (Z.even n)) x y X Y)
    as [e [E Eq]].
  exists e. rewrite u_ro_is_u in E. split; [exact E|exact Eq].
Qed.

Lemma rounded_is_float : forall x, is_float (rounded x).
Proof. intros x. apply generic_format_round; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N]. Qed.

Lemma rounded_not_negative : forall x, 0 <= x -> 0 <= rounded x.
Proof.
  intros x X. apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |exact X].
  apply generic_format_0.
Qed.

(** What rounding may take away: all that radii need. *)
Lemma rounded_low : forall x, 0 <= x -> x * (1 - u) - tiny <= rounded x.
Proof.
  intros x X. destruct (one_rounding x) as [e [t [E [T Eq]]]]. rewrite Eq.
  apply Rabs_le_inv in E, T. unfold u in *. nra.
Qed.

Lemma addition_low : forall x y, is_float x -> is_float y -> 0 <= x + y -> (x + y) * (1 - u) <= rounded (x + y).
Proof.
  intros x y X Y N. destruct (one_addition x y X Y) as [e [E Eq]]. rewrite Eq.
  apply Rabs_le_inv in E. unfold u in *. nra.
Qed.

(** The error of a rounding, by its result. *)
Lemma rounding_error : forall x, Rabs (rounded x - x) <= u * Rabs (rounded x) + 2 * tiny.
Proof.
  intros x. destruct (one_rounding x) as [e [t [E [T Eq]]]]. pose proof tiny_positive.
  assert (R : Rabs x * (1 - Rabs e) - Rabs t <= Rabs (rounded x)).
  { rewrite Eq. pose proof (Rabs_triang_inv (x * (1 + e)) (- t)) as A.
    replace (x * (1 + e) - - t) with (x * (1 + e) + t) in A by ring. rewrite Rabs_Ropp, Rabs_mult in A.
    pose proof (Rabs_triang_inv 1 (- e)) as B. rewrite Rabs_Ropp, Rabs_R1 in B.
    replace (1 - - e) with (1 + e) in B by ring. pose proof (Rabs_pos x). nra. }
  replace (rounded x - x) with (x * e + t) by (rewrite Eq; ring).
  apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_mult.
  pose proof (Rabs_pos x). pose proof (Rabs_pos e).
  assert (Rabs e <= u * (1 - Rabs e)).
  { apply Rmult_le_compat_r with (r := 1 + u) in E; [|unfold u; lra].
    unfold Rdiv in E. rewrite Rmult_assoc, Rinv_l in E by (unfold u; lra). lra. }
  assert (Rabs x * Rabs e <= u * (Rabs x * (1 - Rabs e))) by nra.
  unfold u in *. nra.
Qed.

Lemma addition_error : forall x y, is_float x -> is_float y ->
  Rabs (rounded (x + y) - (x + y)) <= u * Rabs (rounded (x + y)).
Proof.
  intros x y X Y. destruct (one_addition x y X Y) as [e [E Eq]].
  replace (rounded (x + y) - (x + y)) with ((x + y) * e) by (rewrite Eq; ring).
  rewrite Eq, !Rabs_mult. pose proof (Rabs_pos (x + y)). pose proof (Rabs_pos e).
  pose proof (Rabs_triang_inv 1 (- e)) as B. rewrite Rabs_Ropp, Rabs_R1 in B.
  replace (1 - - e) with (1 + e) in B by ring.
  assert (Rabs e <= u * (1 - Rabs e)).
  { apply Rmult_le_compat_r with (r := 1 + u) in E; [|unfold u; lra].
    unfold Rdiv in E. rewrite Rmult_assoc, Rinv_l in E by (unfold u; lra). lra. }
  assert (Rabs (x + y) * (u * (1 - Rabs e)) <= Rabs (x + y) * (u * Rabs (1 + e)));
    [|nra].
  apply Rmult_le_compat_l; [assumption|]. apply Rmult_le_compat_l; [unfold u; lra|lra].
Qed.

(** * Outward *)

(** A radius that was computed too small by a few roundings still holds after `outward`. *)
Lemma outward_holds : forall needed radius, is_float radius -> 0 <= radius -> 0 <= needed ->
  needed * (1 - 16 * u) - 100 * tiny <= radius -> needed <= outward radius.
Proof.
  intros needed radius F N P Low. unfold outward.
  pose proof tiny_in_absolute. pose proof tiny_positive.
  assert (A : 0 <= radius * relative) by (unfold relative; nra).
  pose proof (rounded_low _ A) as L1. pose proof (rounded_not_negative _ A).
  assert (L2 : (rounded (radius * relative) + absolute) * (1 - u) - tiny
    <= rounded (rounded (radius * relative) + absolute)) by (apply rounded_low; lra).
  apply Rle_trans with (2 := L2).
  assert ((needed * (1 - 16 * u) - 100 * tiny) * relative <= radius * relative)
    by (apply Rmult_le_compat_r; [unfold relative; lra|exact Low]).
  unfold u, relative in *. lra.
Qed.

(** * The operations *)

Lemma unit_term : forall m, u * Rabs m * (1 - u) - tiny <= rounded (unit_roundoff * Rabs m).
Proof.
  intros m. pose proof (Rabs_pos m). pose proof unit_is_u.
  assert (U : 0 < u) by (unfold u; lra).
  apply Rle_trans with (2 := rounded_low (unit_roundoff * Rabs m) ltac:(nra)).
  assert (u * Rabs m <= unit_roundoff * Rabs m) by nra. unfold u in *. nra.
Qed.

Theorem sum_is_enclosed : forall m1 r1 m2 r2 x y, is_float m1 -> is_float r1 -> is_float m2 -> is_float r2 ->
  encloses m1 r1 x -> encloses m2 r2 y -> encloses (rounded (m1 + m2)) (sum_radius m1 r1 m2 r2) (x + y).
Proof.
  intros m1 r1 m2 r2 x y M1 R1 M2 R2 X Y. unfold encloses in *.
  assert (P1 : 0 <= r1) by (apply Rle_trans with (2 := X); apply Rabs_pos).
  assert (P2 : 0 <= r2) by (apply Rle_trans with (2 := Y); apply Rabs_pos).
  set (m := rounded (m1 + m2)). pose proof tiny_positive.
  apply Rle_trans with (r1 + r2 + u * Rabs m).
  { replace (x + y - m) with ((x - m1) + (y - m2) - (m - (m1 + m2))) by ring.
    pose proof (addition_error m1 m2 M1 M2). fold m in H0.
    pose proof (Rabs_triang (x - m1 + (y - m2)) (- (m - (m1 + m2)))).
    rewrite Rabs_Ropp in H1. pose proof (Rabs_triang (x - m1) (y - m2)). unfold Rminus in *. lra. }
  pose proof (addition_low r1 r2 R1 R2 ltac:(lra)) as A.
  pose proof (unit_term m) as B. pose proof (Rabs_pos m).
  assert (NA : 0 <= rounded (r1 + r2)) by (apply rounded_not_negative; lra).
  assert (NB : 0 <= rounded (unit_roundoff * Rabs m)).
  { apply rounded_not_negative. apply Rmult_le_pos; [|lra]. pose proof unit_is_u. unfold u in *. lra. }
  pose proof (addition_low _ _ (rounded_is_float (r1 + r2)) (rounded_is_float (unit_roundoff * Rabs m))
    ltac:(lra)) as C.
  unfold sum_radius. fold m. apply outward_holds; [apply rounded_is_float|apply rounded_not_negative; lra| |].
  - unfold u. lra.
  - apply Rle_trans with (2 := C). unfold u in *. lra.
Qed.

Theorem product_is_enclosed : forall m1 r1 m2 r2 x y,
  is_float m1 -> is_float r1 -> is_float m2 -> is_float r2 ->
  encloses m1 r1 x -> encloses m2 r2 y -> encloses (rounded (m1 * m2)) (product_radius m1 r1 m2 r2) (x * y).
Proof.
  intros m1 r1 m2 r2 x y M1 R1 M2 R2 X Y. unfold encloses in *.
  assert (P1 : 0 <= r1) by (apply Rle_trans with (2 := X); apply Rabs_pos).
  assert (P2 : 0 <= r2) by (apply Rle_trans with (2 := Y); apply Rabs_pos).
  set (m := rounded (m1 * m2)). pose proof tiny_positive as Tiny.
  set (a := Rabs m1 * r2). set (b := r1 * (Rabs m2 + r2)).
  pose proof (Rabs_pos m1). pose proof (Rabs_pos m2). pose proof (Rabs_pos m).
  assert (A0 : 0 <= a) by (unfold a; nra). assert (B0 : 0 <= b) by (unfold b; nra).
  apply Rle_trans with (a + b + u * Rabs m + 2 * tiny).
  { replace (x * y - m) with (m1 * (y - m2) + (x - m1) * y - (m - m1 * m2)) by ring.
    pose proof (rounding_error (m1 * m2)) as Er. fold m in Er.
    assert (Ay : Rabs y <= Rabs m2 + r2).
    { replace y with (m2 + (y - m2)) by ring. pose proof (Rabs_triang m2 (y - m2)). lra. }
    assert (T1 : Rabs (m1 * (y - m2)) <= a).
    { rewrite Rabs_mult. unfold a. apply Rmult_le_compat_l; lra. }
    assert (T2 : Rabs ((x - m1) * y) <= b).
    { rewrite Rabs_mult. unfold b. apply Rmult_le_compat; try apply Rabs_pos; lra. }
    pose proof (Rabs_triang (m1 * (y - m2) + (x - m1) * y) (- (m - m1 * m2))) as T3.
    rewrite Rabs_Ropp in T3. pose proof (Rabs_triang (m1 * (y - m2)) ((x - m1) * y)).
    unfold Rminus in *. lra. }
  assert (FA : is_float (Rabs m2)) by (apply generic_format_abs, M2).
  pose proof (addition_low _ _ FA R2 ltac:(lra)) as S. set (s := rounded (Rabs m2 + r2)) in *.
  assert (S0 : 0 <= s) by (apply rounded_not_negative; lra).
  pose proof (rounded_low a A0) as LA.
  assert (Bs : b * (1 - u) <= r1 * s).
  { unfold b. rewrite Rmult_assoc. apply Rmult_le_compat_l; [exact P1|exact S]. }
  assert (B1 : 0 <= r1 * s) by nra.
  pose proof (rounded_low _ B1) as LB.
  assert (NA : 0 <= rounded a) by (apply rounded_not_negative; lra).
  assert (NB : 0 <= rounded (r1 * s)) by (apply rounded_not_negative; lra).
  pose proof (addition_low _ _ (rounded_is_float a) (rounded_is_float (r1 * s)) ltac:(lra)) as C.
  assert (NC : 0 <= rounded (rounded a + rounded (r1 * s))) by (apply rounded_not_negative; lra).
  pose proof (unit_term m) as D.
  assert (ND : 0 <= rounded (unit_roundoff * Rabs m)).
  { apply rounded_not_negative. apply Rmult_le_pos; [|lra]. pose proof unit_is_u. unfold u in *. lra. }
  pose proof (addition_low _ _ (rounded_is_float (rounded a + rounded (r1 * s)))
    (rounded_is_float (unit_roundoff * Rabs m)) ltac:(lra)) as E.
  unfold product_radius. fold m. fold s. fold a.
  apply outward_holds; [apply rounded_is_float|apply rounded_not_negative; lra| |].
  - unfold u. lra.
  - apply Rle_trans with (2 := E). unfold u in *. lra.
Qed.

(** Roots, where the radius does not reach zero: the program takes an infinite radius elsewhere. *)
Theorem root_is_enclosed : forall m r x, is_float m -> is_float r -> r < m ->
  encloses m r x -> encloses (rounded (sqrt m)) (root_radius m r) (sqrt x).
Proof.
  intros m r x M R Less X. unfold encloses in *.
  assert (P : 0 <= r) by (apply Rle_trans with (2 := X); apply Rabs_pos).
  pose proof tiny_positive as Tiny. set (q := sqrt m). set (s := rounded q).
  assert (Q : 0 < q) by (apply sqrt_lt_R0; lra).
  assert (X0 : 0 < x) by (apply Rabs_le_inv in X; lra).
  pose proof (rounding_error q) as Er. fold s in Er.
  assert (S0 : 0 <= s) by (apply rounded_not_negative; lra).
  rewrite (Rabs_right s) in Er by lra.
  assert (Root : Rabs (sqrt x - q) <= r / q).
  { assert (D : sqrt x - q = (x - m) / (sqrt x + q)).
    { assert (0 < sqrt x) by (apply sqrt_lt_R0; lra).
      assert (sqrt x * sqrt x = x) by (apply sqrt_sqrt; lra).
      assert (q * q = m) by (apply sqrt_sqrt; lra).
      apply Rmult_eq_reg_r with (sqrt x + q); [|lra].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
    rewrite D. unfold Rdiv. rewrite Rabs_mult.
    assert (0 < sqrt x) by (apply sqrt_lt_R0; lra).
    rewrite (Rabs_right (/ (sqrt x + q))) by (left; apply Rinv_0_lt_compat; lra).
    apply Rmult_le_compat; [apply Rabs_pos|left; apply Rinv_0_lt_compat; lra|exact X|].
    apply Rinv_le_contravar; lra. }
  (* A root is far above the smallest float: it is rounded relatively. *)
  assert (Big : tiny <= u * q).
  { assert (bpow radix2 (-537) <= q).
    { unfold q. rewrite <- (sqrt_Rsqr (bpow radix2 (-537))) by apply bpow_ge_0.
      apply sqrt_le_1_alt. unfold Rsqr. rewrite <- bpow_plus. change (-537 + -537)%Z with (-1074)%Z.
      apply (generic_format_ge_bpow radix2 float64); [|lra|exact M].
      intros e. unfold float64, FLT_exp. lia. }
    unfold tiny. apply Rle_trans with (u * bpow radix2 (-537)); [|unfold u in *; lra].
    assert (bpow radix2 (-53) = u) by (simpl bpow; unfold u; lra).
    rewrite <- H0, <- bpow_plus. apply bpow_le. lia. }
  assert (Sq : q * (1 - 4 * u) <= s <= q * (1 + 4 * u)).
  { apply Rabs_le_inv in Er. unfold u in *. lra. }
  assert (Sp : 0 < s) by (unfold u in *; lra).
  assert (Rs : r / q * (1 - 4 * u) <= r / s).
  { unfold Rdiv. rewrite Rmult_assoc. apply Rmult_le_compat_l; [exact P|].
    apply Rmult_le_reg_r with s; [exact Sp|]. rewrite Rinv_l by lra.
    apply Rmult_le_reg_l with q; [exact Q|].
    replace (q * (/ q * (1 - 4 * u) * s)) with ((1 - 4 * u) * s) by (field; lra).
    unfold u in *. nra. }
  assert (Rq : 0 <= r / q) by (apply Rmult_le_pos; [exact P|left; apply Rinv_0_lt_compat, Q]).
  assert (R1 : 0 <= r / s) by (apply Rmult_le_pos; [exact P|left; apply Rinv_0_lt_compat, Sp]).
  apply Rle_trans with (r / q + u * s + 2 * tiny).
  { replace (sqrt x - s) with ((sqrt x - q) + - (s - q)) by ring.
    pose proof (Rabs_triang (sqrt x - q) (- (s - q))). rewrite Rabs_Ropp in H. lra. }
  pose proof (rounded_low _ R1) as A. pose proof (unit_term s) as B. rewrite (Rabs_right s) in B by lra.
  assert (NA : 0 <= rounded (r / s)) by (apply rounded_not_negative; lra).
  assert (NB : 0 <= rounded (unit_roundoff * s)).
  { apply rounded_not_negative. apply Rmult_le_pos; [|lra]. pose proof unit_is_u. unfold u in *. lra. }
  pose proof (addition_low _ _ (rounded_is_float (r / s)) (rounded_is_float (unit_roundoff * s)) ltac:(lra)) as C.
  unfold root_radius. fold q. fold s.
  apply outward_holds; [apply rounded_is_float|apply rounded_not_negative; lra| |].
  - unfold u. lra.
  - apply Rle_trans with (2 := C). unfold u in *. lra.
Qed.

(** Quotients, where the divisor's radius does not reach zero: the program takes an infinite radius elsewhere. *)
Theorem quotient_is_enclosed : forall m1 r1 m2 r2 x y,
  is_float m1 -> is_float r1 -> is_float m2 -> is_float r2 -> 0 < rounded (m2 - r2) ->
  encloses m1 r1 x -> encloses m2 r2 y -> encloses (rounded (m1 / m2)) (quotient_radius m1 r1 m2 r2) (x / y).
Proof.
  intros m1 r1 m2 r2 x y M1 R1 M2 R2 Least X Y. unfold encloses in *.
  assert (P1 : 0 <= r1) by (apply Rle_trans with (2 := X); apply Rabs_pos).
  assert (P2 : 0 <= r2) by (apply Rle_trans with (2 := Y); apply Rabs_pos).
  pose proof tiny_positive as Tiny. pose proof tiny_in_absolute as Ta.
  set (least := rounded (m2 - r2)) in *.
  assert (D : 0 < m2 - r2).
  { apply Rnot_le_lt. intros N. assert (least <= 0); [|lra].
    apply round_le_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|apply generic_format_0|lra]. }
  assert (Ll : least <= (m2 - r2) * (1 + 2 * u)).
  { unfold least, Rminus. destruct (one_addition m2 (- r2) M2 (generic_format_opp _ _ _ R2)) as [e [E Eq]].
    rewrite Eq. apply Rabs_le_inv in E. unfold u in *. nra. }
  assert (Yp : m2 - r2 <= y) by (apply Rabs_le_inv in Y; lra).
  set (q := m1 / m2). set (m := rounded q).
  pose proof (rounding_error q) as Er. fold m in Er. pose proof (Rabs_pos m).
  assert (Qm : Rabs q <= Rabs m * (1 + u) + 2 * tiny).
  { pose proof (Rabs_triang_inv q m) as T. rewrite <- Rabs_Ropp in Er.
    replace (- (m - q)) with (q - m) in Er by ring. unfold u in *. lra. }
  (* The outer radius of the middle is above the quotient of the middles. *)
  assert (O : Rabs q <= outward (Rabs m)).
  { apply outward_holds; [apply generic_format_abs, rounded_is_float|apply Rabs_pos|apply Rabs_pos|].
    unfold u in *. lra. }
  set (o := outward (Rabs m)) in *.
  set (needed := r1 + Rabs q * r2).
  assert (N0 : 0 <= needed) by (unfold needed; pose proof (Rabs_pos q); nra).
  assert (W : needed <= outward (rounded (r1 + rounded (o * r2)))).
  { assert (O0 : 0 <= o * r2) by (pose proof (Rabs_pos q); nra).
    pose proof (rounded_low _ O0) as A. pose proof (rounded_not_negative _ O0).
    pose proof (addition_low _ _ R1 (rounded_is_float (o * r2)) ltac:(lra)) as B.
    apply outward_holds; [apply rounded_is_float|apply rounded_not_negative; lra|exact N0|].
    apply Rle_trans with (2 := B).
    assert (Rabs q * r2 <= o * r2) by (apply Rmult_le_compat_r; lra).
    unfold needed, u in *. pose proof (Rabs_pos q). nra. }
  set (w := outward (rounded (r1 + rounded (o * r2)))) in *.
  assert (Nd : 0 <= needed / (m2 - r2)).
  { apply Rmult_le_pos; [exact N0|left; apply Rinv_0_lt_compat, D]. }
  apply Rle_trans with (needed / (m2 - r2) + u * Rabs m + 2 * tiny).
  { replace (x / y - m) with ((x / y - q) + - (m - q)) by ring.
    pose proof (Rabs_triang (x / y - q) (- (m - q))) as T. rewrite Rabs_Ropp in T.
    assert (Rabs (x / y - q) <= needed / (m2 - r2)); [|lra].
    replace (x / y - q) with (((x - m1) + q * - (y - m2)) / y) by (unfold q; field; lra).
    unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_right (/ y)) by (left; apply Rinv_0_lt_compat; lra).
    apply Rmult_le_compat; [apply Rabs_pos|left; apply Rinv_0_lt_compat; lra| |apply Rinv_le_contravar; lra].
    apply Rle_trans with (1 := Rabs_triang _ _). unfold needed. apply Rplus_le_compat; [exact X|].
    rewrite Rabs_mult, Rabs_Ropp. apply Rmult_le_compat_l; [apply Rabs_pos|exact Y]. }
  assert (Wl : needed / (m2 - r2) * (1 - 2 * u) <= w / least).
  { apply Rmult_le_reg_r with least; [exact Least|].
    replace (w / least * least) with w by (field; lra).
    apply Rle_trans with (2 := W).
    apply Rle_trans with (needed / (m2 - r2) * (1 - 2 * u) * ((m2 - r2) * (1 + 2 * u))).
    - apply Rmult_le_compat_l; [|exact Ll]. apply Rmult_le_pos; [exact Nd|unfold u; lra].
    - replace (needed / (m2 - r2) * (1 - 2 * u) * ((m2 - r2) * (1 + 2 * u)))
        with (needed * ((1 - 2 * u) * (1 + 2 * u))) by (field; lra).
      unfold u. nra. }
  assert (W0 : 0 <= w / least).
  { apply Rle_trans with (2 := Wl). apply Rmult_le_pos; [exact Nd|unfold u; lra]. }
  pose proof (rounded_low _ W0) as A. pose proof (rounded_not_negative _ W0).
  assert (U0 : 0 <= 2 * unit_roundoff * Rabs m).
  { pose proof unit_is_u. unfold u in *. nra. }
  pose proof (rounded_low _ U0) as B. pose proof (rounded_not_negative _ U0).
  assert (Ub : 2 * u * Rabs m <= 2 * unit_roundoff * Rabs m) by (pose proof unit_is_u; nra).
  pose proof (addition_low _ _ (rounded_is_float (w / least)) (rounded_is_float (2 * unit_roundoff * Rabs m))
    ltac:(lra)) as C.
  unfold quotient_radius. fold q. fold m. fold o. fold w. fold least.
  apply outward_holds; [apply rounded_is_float|apply rounded_not_negative; lra| |].
  - unfold u. lra.
  - apply Rle_trans with (2 := C). unfold u in *. lra.
Qed.
