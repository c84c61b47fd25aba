(** Sums of two floats (`numerics/twofold.py`): sums and products of floats are exact as pairs, and the
    radii of sums and products of pairs hold the real result. Overflow is as in Enclosures.v. *)

From Coq Require Import ZArith Reals Lra Psatz.
From Flocq Require Import Core Pff2Flocq.
From Proofs Require Import FloatConstants Exact Enclosures.
Open Scope R_scope.

(** A sum of floats, and what it is off by. *)
Definition pair_sum (a b : R) : R := rounded (a + b).
Definition pair_rest (a b : R) : R :=
  let total := rounded (a + b) in
  let part := rounded (total - a) in
  rounded (rounded (a - rounded (total - part)) + rounded (b - part)).

(** The upper of two floats of at most 26 bits that add up to one. *)
Definition upper_half (a : R) : R :=
  let large := rounded (splitter * a) in rounded (large - rounded (large - a)).

(** A product of floats, and what it is off by. *)
Definition product_rest (a b : R) : R :=
  let product := rounded (a * b) in
  let a_high := upper_half a in
  let b_high := upper_half b in
  let a_low := rounded (a - a_high) in
  let b_low := rounded (b - b_high) in
  rounded (rounded (rounded (rounded (rounded (a_high * b_high) - product) + rounded (a_high * b_low))
    + rounded (a_low * b_high)) + rounded (a_low * b_low)).

Lemma ties_are_symmetric : forall x, negb (Z.even x) = negb (negb (Z.even (- (x + 1)))).
Proof.
  intros x. rewrite Z.even_opp, Z.even_add. destruct (Z.even x); reflexivity.
Qed.

Lemma rounded_opp : forall x, rounded (- x) = - rounded x.
Proof. intros x. apply round_N_opp_sym. apply ties_are_symmetric. Qed.

Theorem sums_are_exact : forall a b, is_float a -> is_float b -> pair_sum a b + pair_rest a b = a + b.
Proof.
  intros a b A B.
  apply (TwoSum_correct (-1074) 53 (fun n => negb (Z.even n)) ltac:(lia) ltac:(lia) ties_are_symmetric a b A B).
Qed.

(** Products are exact where they are at least 2^-969, and nowhere off by more than 2^-1072. *)
Theorem products_are_exact : forall a b, is_float a -> is_float b ->
  (bpow radix2 (-969) <= Rabs (a * b) -> rounded (a * b) + product_rest a b = a * b) /\
  Rabs (a * b - (rounded (a * b) + product_rest a b)) <= bpow radix2 (-1072).
Proof.
  intros a b A B.
  assert (Half : forall x, upper_half x = rounded (rounded (x - rounded (x * (bpow radix2 27 + 1)))
      + rounded (x * (bpow radix2 27 + 1)))).
  { intros x. unfold upper_half.
    replace (splitter * x) with (x * (bpow radix2 27 + 1))
      by (unfold splitter; change (bpow radix2 27) with 134217728; lra).
    replace (rounded (x * (bpow radix2 27 + 1)) - x) with (- (x - rounded (x * (bpow radix2 27 + 1)))) by ring.
    rewrite rounded_opp. f_equal. ring. }
  pose proof (Dekker radix2 (-1074) 53 (fun n => negb (Z.even n)) ltac:(lia) ltac:(lia) a b A B
    (or_introl eq_refl)) as [Exact Near].
  change (53 - Z.div2 53)%Z with 27%Z in *.
  rewrite (Rplus_comm (- round radix2 (FLT_exp (-1074) 53) ZnearestE (a * b))) in Exact, Near.
  unfold product_rest. rewrite !Half. unfold rounded, float64 in *.
  split.
  - intros Big. symmetry. apply Exact. right. exact Big.
  - apply Rle_trans with (1 := Near). change (-1072)%Z with (2 + -1074)%Z.
    rewrite bpow_plus. pose proof (bpow_gt_0 radix2 (-1074)). simpl (bpow radix2 2). lra.
Qed.

(** * Operations on pairs: a real number within a radius of high + low *)

Definition rest_of_sum (h1 l1 h2 l2 : R) : R := rounded (pair_rest h1 h2 + rounded (l1 + l2)).

Definition pair_sum_radius (h1 l1 r1 h2 l2 r2 : R) : R :=
  let lower := rounded (l1 + l2) in
  let rest := rest_of_sum h1 l1 h2 l2 in
  let rounding := rounded (unit_roundoff * rounded (Rabs lower + Rabs rest)) in
  outward (rounded (rounded (r1 + r2) + rounding)).

Definition rest_of_product (h1 l1 h2 l2 : R) : R :=
  rounded (product_rest h1 h2 + rounded (rounded (h1 * l2) + rounded (l1 * h2))).

Definition pair_product_radius (h1 l1 r1 h2 l2 r2 : R) : R :=
  let first := rounded (h1 * l2) in
  let second := rounded (l1 * h2) in
  let cross := rounded (first + second) in
  let rest := rest_of_product h1 l1 h2 l2 in
  let sizes := rounded (rounded (rounded (Rabs first + Rabs second) + Rabs cross) + Rabs rest) in
  let rounding := rounded (rounded (rounded (unit_roundoff * sizes) + Rabs (rounded (l1 * l2))) + underflow) in
  let reach := rounded (rounded (Rabs h2 + Rabs l2) + r2) in
  let carried := rounded (rounded (rounded (Rabs h1 + Rabs l1) * r2) + rounded (r1 * reach)) in
  outward (rounded (carried + rounding)).

Lemma abs_is_float : forall x, is_float x -> is_float (Rabs x).
Proof. intros. apply generic_format_abs. assumption. Qed.

Lemma pair_rest_is_float : forall a b, is_float (pair_rest a b).
Proof. intros. apply rounded_is_float. Qed.

Lemma product_rest_is_float : forall a b, is_float (product_rest a b).
Proof. intros. apply rounded_is_float. Qed.

(** A sum of two floats that are not negative. *)
Lemma sizes_low : forall x y, is_float x -> is_float y -> 0 <= x -> 0 <= y ->
  0 <= rounded (x + y) /\ (x + y) * (1 - u) <= rounded (x + y).
Proof.
  intros x y X Y Nx Ny. split; [apply rounded_not_negative; lra|apply addition_low; auto; lra].
Qed.

Lemma unit_rounding : forall x, 0 <= x ->
  0 <= rounded (unit_roundoff * x) /\ u * x * (1 - u) - tiny <= rounded (unit_roundoff * x).
Proof.
  intros x X. pose proof (unit_term x) as T. rewrite (Rabs_right x) in T by lra. split; [|exact T].
  apply rounded_not_negative. apply Rmult_le_pos; [|exact X]. pose proof unit_is_u. unfold u in *. lra.
Qed.

Theorem sum_of_pairs_is_enclosed : forall h1 l1 r1 h2 l2 r2 x y,
  is_float h1 -> is_float l1 -> is_float r1 -> is_float h2 -> is_float l2 -> is_float r2 ->
  encloses (h1 + l1) r1 x -> encloses (h2 + l2) r2 y ->
  let high := pair_sum (pair_sum h1 h2) (rest_of_sum h1 l1 h2 l2) in
  let low := pair_rest (pair_sum h1 h2) (rest_of_sum h1 l1 h2 l2) in
  encloses (high + low) (pair_sum_radius h1 l1 r1 h2 l2 r2) (x + y).
Proof.
  intros h1 l1 r1 h2 l2 r2 x y H1 L1 R1 H2 L2 R2 X Y high low. subst high low.
  assert (Ft : is_float (pair_sum h1 h2)) by apply rounded_is_float.
  assert (Fr : is_float (rest_of_sum h1 l1 h2 l2)) by apply rounded_is_float.
  rewrite (sums_are_exact _ _ Ft Fr). unfold encloses in *.
  pose proof (sums_are_exact h1 h2 H1 H2) as Exact.
  assert (P1 : 0 <= r1) by (apply Rle_trans with (2 := X); apply Rabs_pos).
  assert (P2 : 0 <= r2) by (apply Rle_trans with (2 := Y); apply Rabs_pos).
  set (lower := rounded (l1 + l2)). assert (Fl : is_float lower) by apply rounded_is_float.
  pose proof (addition_error l1 l2 L1 L2) as E1. fold lower in E1.
  pose proof (addition_error _ _ (pair_rest_is_float h1 h2) Fl) as E2.
  change (rounded (pair_rest h1 h2 + lower)) with (rest_of_sum h1 l1 h2 l2) in E2.
  set (rest := rest_of_sum h1 l1 h2 l2) in *.
  apply Rle_trans with (r1 + r2 + u * (Rabs lower + Rabs rest)).
  { replace (x + y - (pair_sum h1 h2 + rest)) with
      ((x - (h1 + l1)) + (y - (h2 + l2)) + - (lower - (l1 + l2)) + - (rest - (pair_rest h1 h2 + lower)))
      by (replace (pair_sum h1 h2) with (h1 + h2 - pair_rest h1 h2) by lra; ring).
    pose proof (Rabs_triang (x - (h1 + l1) + (y - (h2 + l2)) + - (lower - (l1 + l2)))
      (- (rest - (pair_rest h1 h2 + lower)))) as T1.
    pose proof (Rabs_triang (x - (h1 + l1) + (y - (h2 + l2))) (- (lower - (l1 + l2)))) as T2.
    pose proof (Rabs_triang (x - (h1 + l1)) (y - (h2 + l2))) as T3.
    rewrite Rabs_Ropp in T1, T2. lra. }
  destruct (sizes_low r1 r2 R1 R2 P1 P2) as [N1 A1].
  destruct (sizes_low _ _ (abs_is_float _ Fl) (abs_is_float _ Fr) (Rabs_pos _) (Rabs_pos _)) as [N2 A2].
  destruct (unit_rounding _ N2) as [N3 A3].
  destruct (sizes_low _ _ (rounded_is_float (r1 + r2))
    (rounded_is_float (unit_roundoff * rounded (Rabs lower + Rabs rest))) N1 N3) as [N4 A4].
  unfold pair_sum_radius. fold lower. fold rest. pose proof tiny_positive.
  pose proof (Rabs_pos lower). pose proof (Rabs_pos rest).
  apply outward_holds; [apply rounded_is_float|exact N4| |].
  - unfold u. lra.
  - apply Rle_trans with (2 := A4). unfold u in *. lra.
Qed.

(** What underflows anywhere is far below what is added for it. *)
Lemma tiny_in_underflow : 100 * tiny <= underflow.
Proof.
  unfold underflow, tiny. change (bpow radix2 (-1075)) with (/ IZR (2 ^ 1075)).
  apply Rmult_le_reg_r with (IZR (2 ^ 1075)); [apply IZR_lt; reflexivity|].
  rewrite Rmult_assoc, Rinv_l by (apply IZR_neq; discriminate).
  match goal with |- _ <= IZR ?p / IZR ?q * _ =>
    apply Rmult_le_reg_r with (IZR q); [apply IZR_lt; reflexivity|];
    replace (IZR p / IZR q * IZR (2 ^ 1075) * IZR q) with (IZR p * IZR (2 ^ 1075))
      by (field; apply IZR_neq; discriminate) end.
  rewrite Rmult_1_r, <- !mult_IZR. apply IZR_le. vm_compute. discriminate.
Qed.

Lemma underflow_is_float : is_float underflow.
Proof.
  unfold underflow, is_float. match goal with |- generic_format _ _ (IZR 1 / IZR ?q) =>
    replace (IZR 1 / IZR q) with (bpow radix2 (- (Z.log2 q))) end.
  - apply generic_format_bpow. vm_compute. discriminate.
  - rewrite bpow_opp. unfold Rdiv. rewrite Rmult_1_l. f_equal.
Qed.

Lemma eight_sizes : forall a b c d e f g h,
  Rabs (a + b + c + d + e + f + g + h)
  <= Rabs a + Rabs b + Rabs c + Rabs d + Rabs e + Rabs f + Rabs g + Rabs h.
Proof.
  intros. pose proof (Rabs_triang (a + b + c + d + e + f + g) h).
  pose proof (Rabs_triang (a + b + c + d + e + f) g). pose proof (Rabs_triang (a + b + c + d + e) f).
  pose proof (Rabs_triang (a + b + c + d) e). pose proof (Rabs_triang (a + b + c) d).
  pose proof (Rabs_triang (a + b) c). pose proof (Rabs_triang a b). lra.
Qed.

Theorem product_of_pairs_is_enclosed : forall h1 l1 r1 h2 l2 r2 x y,
  is_float h1 -> is_float l1 -> is_float r1 -> is_float h2 -> is_float l2 -> is_float r2 ->
  encloses (h1 + l1) r1 x -> encloses (h2 + l2) r2 y ->
  let high := pair_sum (rounded (h1 * h2)) (rest_of_product h1 l1 h2 l2) in
  let low := pair_rest (rounded (h1 * h2)) (rest_of_product h1 l1 h2 l2) in
  encloses (high + low) (pair_product_radius h1 l1 r1 h2 l2 r2) (x * y).
Proof.
  intros h1 l1 r1 h2 l2 r2 x y H1 L1 R1 H2 L2 R2 X Y high low. subst high low.
  assert (Fp : is_float (rounded (h1 * h2))) by apply rounded_is_float.
  assert (Fr : is_float (rest_of_product h1 l1 h2 l2)) by apply rounded_is_float.
  rewrite (sums_are_exact _ _ Fp Fr). unfold encloses in *.
  destruct (products_are_exact h1 h2 H1 H2) as [_ Near].
  assert (Eight : bpow radix2 (-1072) = 8 * tiny).
  { unfold tiny. change (-1072)%Z with (3 + -1075)%Z. rewrite bpow_plus. simpl (bpow radix2 3). lra. }
  rewrite Eight in Near.
  assert (P1 : 0 <= r1) by (apply Rle_trans with (2 := X); apply Rabs_pos).
  assert (P2 : 0 <= r2) by (apply Rle_trans with (2 := Y); apply Rabs_pos).
  set (product := rounded (h1 * h2)) in *.
  set (error := product_rest h1 h2) in *.
  assert (Fe : is_float error) by apply rounded_is_float.
  set (first := rounded (h1 * l2)). set (second := rounded (l1 * h2)).
  assert (F1 : is_float first) by apply rounded_is_float.
  assert (F2 : is_float second) by apply rounded_is_float.
  pose proof (rounding_error (h1 * l2)) as E1. fold first in E1.
  pose proof (rounding_error (l1 * h2)) as E2. fold second in E2.
  set (cross := rounded (first + second)). assert (Fc : is_float cross) by apply rounded_is_float.
  pose proof (addition_error _ _ F1 F2) as E3. fold cross in E3.
  pose proof (addition_error _ _ Fe Fc) as E4.
  change (rounded (error + cross)) with (rest_of_product h1 l1 h2 l2) in E4.
  set (rest := rest_of_product h1 l1 h2 l2) in *.
  set (left_out := Rabs (l1 * l2)).
  set (a := (Rabs h1 + Rabs l1) * r2). set (b := r1 * (Rabs h2 + Rabs l2 + r2)).
  set (s := Rabs first + Rabs second + Rabs cross + Rabs rest).
  pose proof tiny_positive as Tiny. pose proof tiny_in_underflow as Under.
  pose proof (Rabs_pos h1) as Ph1. pose proof (Rabs_pos l1) as Pl1.
  pose proof (Rabs_pos h2) as Ph2. pose proof (Rabs_pos l2) as Pl2.
  assert (A0 : 0 <= a) by (unfold a; nra). assert (B0 : 0 <= b) by (unfold b; nra).
  assert (O0 : 0 <= left_out) by apply Rabs_pos.
  assert (S0 : 0 <= s).
  { unfold s. pose proof (Rabs_pos first). pose proof (Rabs_pos second). pose proof (Rabs_pos cross).
    pose proof (Rabs_pos rest). lra. }
  apply Rle_trans with (a + b + u * s + left_out + 12 * tiny).
  { replace (x * y - (product + rest)) with
      ((h1 + l1) * (y - (h2 + l2)) + (x - (h1 + l1)) * y + (h1 * h2 - (product + error)) + l1 * l2
       + - (first - h1 * l2) + - (second - l1 * h2) + - (cross - (first + second))
       + - (rest - (error + cross))) by ring.
    assert (T1 : Rabs ((h1 + l1) * (y - (h2 + l2))) <= a).
    { rewrite Rabs_mult. unfold a. apply Rmult_le_compat; try apply Rabs_pos; [apply Rabs_triang|exact Y]. }
    assert (T2 : Rabs ((x - (h1 + l1)) * y) <= b).
    { rewrite Rabs_mult. unfold b. apply Rmult_le_compat; try apply Rabs_pos; [exact X|].
      replace y with ((h2 + l2) + (y - (h2 + l2))) by ring.
      pose proof (Rabs_triang (h2 + l2) (y - (h2 + l2))). pose proof (Rabs_triang h2 l2). lra. }
    eapply Rle_trans; [apply eight_sizes|]. rewrite !Rabs_Ropp. unfold s, left_out. lra. }
  destruct (sizes_low _ _ (abs_is_float _ F1) (abs_is_float _ F2) (Rabs_pos _) (Rabs_pos _)) as [N1 A1].
  destruct (sizes_low _ _ (rounded_is_float (Rabs first + Rabs second)) (abs_is_float _ Fc) N1 (Rabs_pos _))
    as [N2 A2].
  set (s1 := rounded (rounded (Rabs first + Rabs second) + Rabs cross)) in *.
  assert (Fs1 : is_float s1) by apply rounded_is_float.
  destruct (sizes_low _ _ Fs1 (abs_is_float _ Fr) N2 (Rabs_pos _)) as [N3 A3].
  set (sizes := rounded (s1 + Rabs rest)) in *.
  destruct (unit_rounding sizes N3) as [N4 A4]. set (t1 := rounded (unit_roundoff * sizes)) in *.
  assert (Ft1 : is_float t1) by apply rounded_is_float.
  assert (Ll : left_out * (1 - u) - 4 * tiny <= Rabs (rounded (l1 * l2))).
  { pose proof (rounding_error (l1 * l2)) as E. rewrite <- Rabs_Ropp in E.
    pose proof (Rabs_triang_inv (l1 * l2) (rounded (l1 * l2))) as T.
    replace (- (rounded (l1 * l2) - l1 * l2)) with (l1 * l2 - rounded (l1 * l2)) in E by ring.
    fold left_out in T. pose proof (Rabs_pos (rounded (l1 * l2))). unfold u in *. lra. }
  destruct (sizes_low _ _ Ft1 (abs_is_float _ (rounded_is_float (l1 * l2))) N4 (Rabs_pos _)) as [N5 A5].
  set (t2 := rounded (t1 + Rabs (rounded (l1 * l2)))) in *.
  assert (Ft2 : is_float t2) by apply rounded_is_float.
  destruct (sizes_low _ _ Ft2 underflow_is_float N5 ltac:(lra)) as [N6 A6].
  set (rounding := rounded (t2 + underflow)) in *.
  destruct (sizes_low _ _ (abs_is_float _ H2) (abs_is_float _ L2) (Rabs_pos _) (Rabs_pos _)) as [N7 A7].
  destruct (sizes_low _ _ (rounded_is_float (Rabs h2 + Rabs l2)) R2 N7 P2) as [N8 A8].
  set (reach := rounded (rounded (Rabs h2 + Rabs l2) + r2)) in *.
  destruct (sizes_low _ _ (abs_is_float _ H1) (abs_is_float _ L1) (Rabs_pos _) (Rabs_pos _)) as [N9 A9].
  assert (Ra : a * (1 - u) <= rounded (Rabs h1 + Rabs l1) * r2).
  { unfold a. replace ((Rabs h1 + Rabs l1) * r2 * (1 - u)) with ((Rabs h1 + Rabs l1) * (1 - u) * r2) by ring.
    apply Rmult_le_compat_r; assumption. }
  assert (Rb : b * (1 - 2 * u) <= r1 * reach).
  { unfold b. rewrite Rmult_assoc. apply Rmult_le_compat_l; [exact P1|]. unfold u in *. lra. }
  assert (Na : 0 <= rounded (Rabs h1 + Rabs l1) * r2) by (apply Rmult_le_pos; assumption).
  assert (Nb : 0 <= r1 * reach) by (apply Rmult_le_pos; assumption).
  pose proof (rounded_low _ Na) as La. pose proof (rounded_low _ Nb) as Lb.
  destruct (sizes_low _ _ (rounded_is_float (rounded (Rabs h1 + Rabs l1) * r2)) (rounded_is_float (r1 * reach))
    (rounded_not_negative _ Na) (rounded_not_negative _ Nb)) as [N10 A10].
  set (carried := rounded (rounded (rounded (Rabs h1 + Rabs l1) * r2) + rounded (r1 * reach))) in *.
  assert (Fca : is_float carried) by apply rounded_is_float.
  assert (Fro : is_float rounding) by apply rounded_is_float.
  destruct (sizes_low _ _ Fca Fro N10 N6) as [N11 A11].
  unfold pair_product_radius. fold first second. fold cross. fold rest. fold s1. fold sizes. fold t1. fold t2.
  fold rounding. fold reach. fold carried.
  apply outward_holds; [apply rounded_is_float|exact N11| |].
  - unfold u in *. lra.
  - apply Rle_trans with (2 := A11).
    assert (Ca : (a + b) * (1 - 5 * u) - 2 * tiny <= carried).
    { clear - La Lb Ra Rb A10 A0 B0 Tiny. unfold u in *. nra. }
    assert (Si : s * (1 - 4 * u) <= sizes).
    { pose proof (Rabs_pos first). pose proof (Rabs_pos second). pose proof (Rabs_pos cross).
      pose proof (Rabs_pos rest). unfold s. clear - A1 A2 A3 H H0 H3 H4. unfold u in *. lra. }
    assert (Ro : u * s * (1 - 8 * u) + left_out * (1 - 4 * u) + 90 * tiny <= rounding).
    { clear - Si A4 A5 A6 Ll Under Tiny S0 O0. unfold u in *. lra. }
    clear - Ca Ro A0 B0 S0 O0 Tiny. unfold u in *. lra.
Qed.
