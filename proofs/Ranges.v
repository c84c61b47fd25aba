(** All doubles again: integers that are decided, entries that are clipped, logarithms, cosines and sines. *)

From Coq Require Import ZArith Reals Lra Lia List Bool.
From Flocq Require Import Core BinarySingleNaN.
From Proofs Require Import FloatConstants Exact Enclosures Twofold Polynomials Logarithm Turns Products Numbers Overflow.
Import ListNotations.
Open Scope Z_scope.
Open Scope R_scope.
#[local] Existing Instances precision exponents.

(** * Nearest integers *)

Definition rint64 (a : double) : double := Bnearbyint mode_NE a.
Definition decided64 : double := near64 decided.
Definition nearest_distance64 (m r : double) : double := plus64 (size64 (minus64 m (rint64 m))) r.

Lemma decided64_is : finite decided64 /\ B2R decided64 = decided.
Proof. unfold decided64, decided. constant 40%Z. Qed.

Lemma rint_is : forall a, finite a -> exists n, B2R (rint64 a) = IZR n.
Proof.
  intros a A. destruct (Bnearbyint_correct 53 1024 exponents mode_NE a) as [E _]. unfold rint64. rewrite E.
  rewrite round_FIX_IZR. eexists. reflexivity.
Qed.

(** An integer is taken only where the distance is known to be small: whatever middle and radius are. Radii of the
    program are sums of sizes and products of such, and so none is infinite below zero. *)
Theorem doubles_nearest : forall m r x, says m r x -> r <> B754_infinity true ->
  Bltb (nearest_distance64 m r) decided64 = true ->
  exists n, B2R (rint64 m) = IZR n /\ Rabs (x - IZR n) < 1 / 2.
Proof.
  intros m r x X Low Less. destruct decided64_is as [Df De]. unfold nearest_distance64 in *.
  assert (F : finite (plus64 (size64 (minus64 m (rint64 m))) r)).
  { destruct (plus64 (size64 (minus64 m (rint64 m))) r) as [|[]| |] eqn:E; try reflexivity.
    - elim Low. apply size_plus_low with (1 := E).
    - destruct decided64; discriminate.
    - destruct decided64; discriminate. }
  rewrite Bltb_correct in Less by assumption.
  destruct (Rlt_bool_spec (B2R (plus64 (size64 (minus64 m (rint64 m))) r)) (B2R decided64)) as [L|]; [|discriminate].
  apart. destruct X as [_ X]; [assumption|]. destruct (rint_is m ltac:(assumption)) as [n N].
  exists n. split; [exact N|]. apply nearest_is_determined with (B2R m) (B2R r); try apply double_is_float; try assumption.
  - rewrite <- N. apply double_is_float.
  - unfold nearest_distance. rewrite De in L. rewrite <- N.
    match goal with E : B2R (plus64 _ _) = _ |- _ => rewrite E in L end.
    match goal with E : B2R (size64 _) = _ |- _ => rewrite E in L end.
    match goal with E : B2R (minus64 _ _) = _ |- _ => rewrite E in L end. exact L.
Qed.

(** * Entries of a row (`numerics/numba_loops.py`): scaled, clipped and rounded *)

Definition min64 (a b : double) : double := if Bltb b a then b else a.
Definition max64 (a b : double) : double := if Bltb a b then b else a.
Definition clipped64 (v h : double) : double := max64 (min64 v h) (Bopp h).
Definition near_value64 (x s c : double) : double := minus64 (times64 x s) c.
Definition far_value64 (x s c : double) : double := times64 (minus64 x c) s.
Definition entry64 (v h : double) : double := rint64 (clipped64 v h).

Lemma clipped_inside : forall v h, is_nan v = false -> finite h -> 0 <= B2R h ->
  finite (clipped64 v h) /\ Rabs (B2R (clipped64 v h)) <= B2R h /\
  (finite v -> B2R (clipped64 v h) = Rmax (Rmin (B2R v) (B2R h)) (- B2R h)).
Proof.
  intros v h V H P.
  assert (O : finite (Bopp h)) by (unfold finite; now rewrite is_finite_Bopp).
  assert (Min : (finite (min64 v h) /\ B2R (min64 v h) <= B2R h /\
      (finite v -> B2R (min64 v h) = Rmin (B2R v) (B2R h))) \/ min64 v h = B754_infinity true /\ ~ finite v).
  { unfold min64. destruct (is_finite v) eqn:F.
    - left. rewrite Bltb_correct by assumption. destruct (Rlt_bool_spec (B2R h) (B2R v)).
      + repeat split; [exact H|lra|]. intros _. rewrite Rmin_right; lra.
      + repeat split; [exact F|lra|]. intros _. rewrite Rmin_left; lra.
    - destruct v as [|[]| |]; try discriminate.
      + right. destruct h; try discriminate; simpl; split; discriminate || reflexivity.
      + left. destruct h; try discriminate; simpl Bltb; cbv iota; repeat split; try assumption;
          try apply Rle_refl; discriminate. }
  unfold clipped64, max64. destruct Min as [[F [L E]]|[-> N]].
  - rewrite Bltb_correct by assumption. rewrite B2R_Bopp. destruct (Rlt_bool_spec (B2R (min64 v h)) (- B2R h)).
    + repeat split; [exact O| |].
      * rewrite B2R_Bopp, Rabs_Ropp, Rabs_right; lra.
      * intros G. rewrite <- (E G), B2R_Bopp, Rmax_right; lra.
    + repeat split; [exact F|apply Rabs_le; lra|]. intros G. rewrite <- (E G), Rmax_left; lra.
  - assert (Bltb (B754_infinity true) (Bopp h) = true) as -> by (destruct h; try discriminate; reflexivity).
    repeat split; [exact O| |].
    + rewrite B2R_Bopp, Rabs_Ropp, Rabs_right; lra.
    + intros G. now elim N.
Qed.

Lemma entry_inside : forall v h w, is_nan v = false -> finite h -> B2R h = IZR w -> (0 <= w)%Z ->
  exists n, finite (entry64 v h) /\ B2R (entry64 v h) = IZR n /\ (Z.abs n <= w)%Z.
Proof.
  intros x h w V H W P. assert (P' : 0 <= B2R h) by (rewrite W; apply IZR_le, P).
  destruct (clipped_inside x h V H P') as [F [B _]].
  unfold entry64. set (v := clipped64 _ h) in *.
  destruct (Bnearbyint_correct 53 1024 exponents mode_NE v) as [E [G _]]. unfold rint64. fold v.
  rewrite round_FIX_IZR in E. exists (ZnearestE (B2R v)). split; [unfold finite in *; congruence|]. split; [exact E|].
  rewrite W in B. apply Rabs_le_inv in B.
  assert (- w <= ZnearestE (B2R v) <= w)%Z; [|lia]. split.
  - rewrite <- (Zrnd_IZR ZnearestE (- w)). apply Zrnd_le; [apply valid_rnd_N|]. rewrite opp_IZR. lra.
  - rewrite <- (Zrnd_IZR ZnearestE w). apply Zrnd_le; [apply valid_rnd_N|]. lra.
Qed.

(** Every finite number, centre and scale: the entry is an integer of at most the half-width, also where a
    product or a difference overflows. c' is the centre, or the centre in units of the grid. *)
Theorem doubles_entry : forall x s c c' h w, finite x -> finite s -> B2R s <> 0 -> finite c -> finite c' ->
  finite h -> B2R h = IZR w -> (0 <= w)%Z ->
  forall v, v = near_value64 x s c' \/ v = far_value64 x s c ->
  exists n, finite (entry64 v h) /\ B2R (entry64 v h) = IZR n /\ (Z.abs n <= w)%Z.
Proof.
  intros x s c c' h w X S Z C C' H W P v V.
  assert (N : is_nan x = false) by (destruct x; easy).
  apply entry_inside; try assumption. destruct V as [-> | ->].
  - apply minus_is_a_number; [apply times_is_a_number; auto|exact C'].
  - apply times_is_a_number; [apply minus_is_a_number; assumption|exact S|right; exact Z].
Qed.

(** * Logarithms, cosines and sines: no step comes near the largest double *)

(** A finite number of at most k in size. *)
Definition within (k : Z) (a : double) : Prop := finite a /\ Rabs (B2R a) <= IZR k.

Lemma rounded_small : forall x k, (0 <= k <= 2 ^ 53)%Z -> Rabs x <= IZR k -> Rabs (rounded x) <= IZR k < top.
Proof.
  intros x k K X. split.
  - rewrite <- (integers_are_floats k) by lia. apply Rabs_le. apply Rabs_le_inv in X. rewrite <- rounded_opp.
    split; (apply round_le; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|lra]).
  - apply Rle_lt_trans with (IZR (2 ^ 53)); [apply IZR_le; lia|].
    change (IZR (2 ^ 53)) with (bpow radix2 53). apply bpow_lt. lia.
Qed.

Lemma plus_within : forall a b k, finite a -> finite b -> (0 <= k <= 2 ^ 53)%Z -> Rabs (B2R a + B2R b) <= IZR k ->
  within k (plus64 a b) /\ B2R (plus64 a b) = rounded (B2R a + B2R b).
Proof.
  intros a b k A B K X. destruct (rounded_small _ k K X) as [Y T].
  assert (F : finite (plus64 a b)) by (apply plus_fits; lra || assumption).
  destruct (plus_finite _ _ F) as [_ [_ E]]. split; [split; [exact F|now rewrite E]|exact E].
Qed.

Lemma minus_within : forall a b k, finite a -> finite b -> (0 <= k <= 2 ^ 53)%Z -> Rabs (B2R a - B2R b) <= IZR k ->
  within k (minus64 a b) /\ B2R (minus64 a b) = rounded (B2R a - B2R b).
Proof.
  intros a b k A B K X. destruct (rounded_small _ k K X) as [Y T].
  assert (F : finite (minus64 a b)) by (apply minus_fits; lra || assumption).
  destruct (minus_finite _ _ F) as [_ [_ E]]. split; [split; [exact F|now rewrite E]|exact E].
Qed.

Lemma times_within : forall a b k, finite a -> finite b -> (0 <= k <= 2 ^ 53)%Z -> Rabs (B2R a * B2R b) <= IZR k ->
  within k (times64 a b) /\ B2R (times64 a b) = rounded (B2R a * B2R b).
Proof.
  intros a b k A B K X. destruct (rounded_small _ k K X) as [Y T].
  assert (F : finite (times64 a b)) by (apply times_fits; lra || assumption).
  destruct (times_finite _ _ F) as [_ [_ E]]. split; [split; [exact F|now rewrite E]|exact E].
Qed.

Lemma over_within : forall a b k, finite a -> finite b -> B2R b <> 0 -> (0 <= k <= 2 ^ 53)%Z ->
  Rabs (B2R a / B2R b) <= IZR k -> within k (over64 a b) /\ B2R (over64 a b) = rounded (B2R a / B2R b).
Proof.
  intros a b k A B Z K X. destruct (rounded_small _ k K X) as [Y T].
  assert (F : finite (over64 a b)) by (apply over_fits; lra || assumption).
  destruct (over_finite _ _ B F) as [_ [_ E]]. split; [split; [exact F|now rewrite E]|exact E].
Qed.

(** Coefficients are doubles of at most one. *)
Definition coefficient (c : R) : Prop := is_float c /\ Rabs c <= 1.
Definition doubles64 (terms : list R) : list double := map near64 terms.

Lemma coefficient_is : forall c, coefficient c -> within 1 (near64 c) /\ B2R (near64 c) = c.
Proof.
  intros c [F S]. assert (E : rounded c = c) by (apply round_generic; [apply valid_rnd_N|exact F]).
  destruct (near_is c) as [G H]; [rewrite E; apply Rle_lt_trans with (1 := S); apply (bpow_lt radix2 0 1024); lia|].
  rewrite E in H. repeat split; [exact G|now rewrite H|exact H].
Qed.

Definition horner64 (x : double) (terms : list double) : double :=
  match terms with
  | [] => zero64
  | first :: rest => fold_left (fun sum term => plus64 (times64 sum x) term) rest first
  end.

Lemma horner_folds : forall terms x first sum k, within 1 x -> within k first -> B2R first = sum ->
  Forall coefficient terms -> (0 <= k)%Z -> (k + Z.of_nat (length terms) <= 1000)%Z ->
  within (k + Z.of_nat (length terms))
    (fold_left (fun sum term => plus64 (times64 sum x) term) (doubles64 terms) first) /\
  B2R (fold_left (fun sum term => plus64 (times64 sum x) term) (doubles64 terms) first) =
    fold_left (fun sum term => rounded (rounded (sum * B2R x) + term)) terms sum.
Proof.
  induction terms as [|c rest IH]; intros x first sum k X F E C K L.
  - simpl. rewrite Z.add_0_r. split; [exact F|exact E].
  - simpl length in *. rewrite Nat2Z.inj_succ in *. inversion C as [|c' rest' Cc Cr]. subst.
    destruct (coefficient_is c Cc) as [Wc Ec]. destruct X as [Fx Bx], F as [Ff Bf], Wc as [Fc Bc].
    destruct (times_within first x k Ff Fx ltac:(lia)) as [[Ft Bt] Et].
    { rewrite Rabs_mult. pose proof (Rabs_pos (B2R first)). pose proof (Rabs_pos (B2R x)). nra. }
    destruct (plus_within (times64 first x) (near64 c) (k + 1) Ft Fc ltac:(lia)) as [Wp Ep].
    { apply Rle_trans with (1 := Rabs_triang _ _). rewrite plus_IZR. lra. }
    destruct (IH x (plus64 (times64 first x) (near64 c)) (rounded (rounded (B2R first * B2R x) + c)) (k + 1)%Z)
      as [W V]; try assumption; try lia.
    + split; assumption.
    + rewrite Ep, Et, Ec. reflexivity.
    + simpl doubles64. simpl fold_left.
      replace (k + Z.succ (Z.of_nat (length rest)))%Z with (k + 1 + Z.of_nat (length rest))%Z by lia.
      split; [exact W|exact V].
Qed.

Lemma horner_within : forall terms x, within 1 x -> Forall coefficient terms -> (length terms <= 100)%nat ->
  within (Z.of_nat (length terms)) (horner64 x (doubles64 terms)) /\
  B2R (horner64 x (doubles64 terms)) = horner_rounded (B2R x) terms.
Proof.
  intros [|c rest] x X C L.
  - repeat split; try reflexivity. simpl. rewrite Rabs_R0. lra.
  - inversion C as [|c' rest' Cc Cr]. subst. destruct (coefficient_is c Cc) as [Wc Ec]. simpl length in *.
    destruct (horner_folds rest x (near64 c) c 1 X Wc Ec Cr ltac:(lia) ltac:(lia)) as [W V].
    replace (Z.of_nat (S (length rest))) with (1 + Z.of_nat (length rest))%Z by lia. split; [exact W|exact V].
Qed.

Ltac coefficients :=
  repeat apply Forall_cons; try apply Forall_nil;
  match goal with |- coefficient (IZR ?n / IZR ?d) =>
    let e := eval vm_compute in (Z.log2 d) in
    split; [apply (constant_is_float n d e); vm_compute; (reflexivity || (split; discriminate))|
      apply Rabs_le; split; apply Rmult_le_reg_r with (IZR d); try (apply IZR_lt; reflexivity);
      unfold Rdiv; rewrite Rmult_assoc, Rinv_l by (apply IZR_neq; discriminate);
      rewrite ?Rmult_1_r, ?Rmult_1_l, <- ?opp_IZR, <- ?mult_IZR; apply IZR_le; vm_compute; discriminate] end.

Lemma log_coefficients : Forall coefficient log_terms.
Proof. unfold log_terms. coefficients. Qed.
Lemma sine_coefficients : Forall coefficient sine_terms.
Proof. unfold sine_terms. coefficients. Qed.
Lemma cosine_coefficients : Forall coefficient cosine_terms.
Proof. unfold cosine_terms. coefficients. Qed.

(** One, two and four. *)
Definition one64 : double := near64 1.
Definition two64 : double := near64 2.
Definition four64 : double := near64 4.
Definition log2_high64 : double := near64 log2_high.
Definition log2_low64 : double := near64 log2_low.
Definition log_error64 : double := near64 log_error.

Lemma whole_is : forall k, (0 <= k <= 2 ^ 53)%Z -> finite (near64 (IZR k)) /\ B2R (near64 (IZR k)) = IZR k.
Proof.
  intros k K. destruct (near_is (IZR k)) as [F E].
  - destruct (rounded_small (IZR k) k K); [|lra]. rewrite Rabs_right; [lra|]. apply Rle_ge, IZR_le. lia.
  - rewrite integers_are_floats in E by lia. split; assumption.
Qed.

Lemma log2_high64_is : finite log2_high64 /\ B2R log2_high64 = log2_high.
Proof. unfold log2_high64, log2_high. constant 32%Z. Qed.
Lemma log2_low64_is : finite log2_low64 /\ B2R log2_low64 = log2_low.
Proof. unfold log2_low64, log2_low. constant 84%Z. Qed.
Lemma log_error64_is : finite log_error64 /\ B2R log_error64 = log_error.
Proof. unfold log_error64, log_error. constant 50%Z. Qed.

Definition log_part64 (f : double) : double :=
  let s := over64 f (plus64 two64 f) in
  let z := times64 s s in
  times64 (times64 two64 s) (plus64 one64 (times64 z (horner64 z (doubles64 log_terms)))).
Definition log64 (m e : double) : double :=
  plus64 (times64 e log2_high64) (plus64 (times64 e log2_low64) (log_part64 (minus64 m one64))).

Lemma factor_within : forall a b i j, within i a -> within j b -> (0 <= i * j <= 2 ^ 53)%Z ->
  within (i * j) (times64 a b) /\ B2R (times64 a b) = rounded (B2R a * B2R b).
Proof.
  intros a b i j [A Ba] [B Bb] K. apply times_within; try assumption. rewrite Rabs_mult, mult_IZR.
  apply Rmult_le_compat; auto using Rabs_pos.
Qed.

Lemma term_within : forall a b i j, within i a -> within j b -> (0 <= i + j <= 2 ^ 53)%Z ->
  within (i + j) (plus64 a b) /\ B2R (plus64 a b) = rounded (B2R a + B2R b).
Proof.
  intros a b i j [A Ba] [B Bb] K. apply plus_within; try assumption. rewrite plus_IZR.
  apply Rle_trans with (1 := Rabs_triang _ _). lra.
Qed.

Lemma number_within : forall k, (0 <= k <= 2 ^ 53)%Z -> within k (near64 (IZR k)) /\ B2R (near64 (IZR k)) = IZR k.
Proof.
  intros k K. destruct (whole_is k K) as [F E]. repeat split; [exact F| |exact E].
  rewrite E, Rabs_right; [lra|]. apply Rle_ge, IZR_le. lia.
Qed.

Lemma log_part_within : forall f, within 1 f ->
  within 22 (log_part64 f) /\ B2R (log_part64 f) = log_rounded (B2R f).
Proof.
  intros f F. destruct (number_within 1 ltac:(lia)) as [One E1]. destruct (number_within 2 ltac:(lia)) as [Two E2].
  fold one64 in One, E1. fold two64 in Two, E2.
  destruct (term_within two64 f 2 1 Two F ltac:(lia)) as [[Fd Bd] Ed]. destruct F as [Ff Bf].
  assert (Least : 1 <= B2R (plus64 two64 f)).
  { rewrite Ed, E2. apply Rabs_le_inv in Bf. rewrite <- (integers_are_floats 1) by lia.
    apply round_le; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|lra]. }
  destruct (over_within f (plus64 two64 f) 1 Ff Fd ltac:(lra) ltac:(lia)) as [S Es].
  { unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ _)) by (apply Rle_ge; left; apply Rinv_0_lt_compat; lra).
    rewrite <- (Rmult_1_r (IZR 1)). apply Rmult_le_compat; [apply Rabs_pos|left; apply Rinv_0_lt_compat; lra|exact Bf|].
    rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
  unfold log_part64. cbv zeta. set (s := over64 f (plus64 two64 f)) in *.
  destruct (factor_within s s 1 1 S S ltac:(lia)) as [Z Ez]. set (z := times64 s s) in *.
  destruct (horner_within log_terms z Z log_coefficients ltac:(vm_compute; lia)) as [H Eh].
  change (Z.of_nat (length log_terms)) with 10%Z in H.
  destruct (factor_within z _ 1 10 Z H ltac:(lia)) as [P Ep].
  destruct (term_within one64 _ 1 10 One P ltac:(lia)) as [Q Eq].
  destruct (factor_within two64 s 2 1 Two S ltac:(lia)) as [T Et].
  destruct (factor_within _ _ 2 11 T Q ltac:(lia)) as [W Ew].
  split; [exact W|]. unfold log_rounded. cbv zeta. rewrite Ew, Et, Eq, Ep, Eh, E1, E2, Ez, Es, Ed, E2. reflexivity.
Qed.

Theorem doubles_log_float : forall m e k, finite m -> root_half <= B2R m <= 2 * root_half -> finite e ->
  B2R e = IZR k -> (Z.abs k <= 1100)%Z -> finite (log64 m e) /\ B2R (log64 m e) = log_float (B2R m) k.
Proof.
  intros m e k M Hm F E K. destruct (number_within 1 ltac:(lia)) as [One E1]. fold one64 in One, E1.
  assert (B : 7071 / 10000 <= B2R m <= 14143 / 10000) by (unfold root_half in Hm; lra).
  destruct (minus_within m one64 1 M (proj1 One) ltac:(lia)) as [Wf Ef]; [rewrite E1; apply Rabs_le; lra|].
  destruct (log_part_within _ Wf) as [Wp Ep].
  assert (We : within 1100 e).
  { split; [exact F|]. rewrite E, <- abs_IZR. apply IZR_le. exact K. }
  destruct log2_high64_is as [Fh Eh], log2_low64_is as [Fl El].
  assert (Wh : within 1 log2_high64) by (split; [exact Fh|rewrite Eh; unfold log2_high; rewrite Rabs_right; lra]).
  assert (Wl : within 1 log2_low64) by (split; [exact Fl|rewrite El; unfold log2_low; rewrite Rabs_right; lra]).
  destruct (factor_within e _ 1100 1 We Wh ltac:(lia)) as [W1 V1].
  destruct (factor_within e _ 1100 1 We Wl ltac:(lia)) as [W2 V2].
  destruct (term_within _ _ _ _ W2 Wp ltac:(lia)) as [W3 V3].
  destruct (term_within _ _ _ _ W1 W3 ltac:(lia)) as [W4 V4].
  unfold log64. split; [apply W4|]. rewrite V4, V3, V2, V1, Ep, Ef, Eh, El, E, E1. reflexivity.
Qed.

Definition log_radius64 (x r logarithm : double) : double :=
  outward64 (plus64
    (if Bltb zero64 (minus64 x r) then times64 (over64 r (minus64 x r)) relative64 else infinite)
    (times64 log_error64 (size64 logarithm))).

(** Logarithms of all doubles: x is m 2^k. *)
Theorem doubles_log : forall x m e k r y, finite m -> root_half <= B2R m <= 2 * root_half -> finite e ->
  B2R e = IZR k -> (Z.abs k <= 1100)%Z -> B2R x = B2R m * bpow radix2 k ->
  says x r y -> says (log64 m e) (log_radius64 x r (log64 m e)) (ln y).
Proof.
  intros x m e k r y M Hm Fe E K Ex X F. destruct (doubles_log_float m e k M Hm Fe E K) as [Fl El].
  split; [exact Fl|]. unfold log_radius64 in *. destruct (outward_finite _ F) as [G Eo]. clear F. rewrite Eo.
  destruct log_error64_is as [_ Ee], relative64_is as [_ Er]. apart.
  destruct (Bltb zero64 (minus64 x r)) eqn:Less; [|discriminate]. apart.
  match goal with D : finite (over64 r _) |- _ => pose proof (over_numerator _ _ D) as R; rename D into Part end.
  destruct (X R) as [Fx Enc].
  assert (Least : finite (minus64 x r)).
  { apply least_is_finite; try assumption. unfold encloses in Enc. pose proof (Rabs_pos (y - B2R x)). lra. }
  destruct (over_finite _ _ Least Part) as [_ [_ Eq]]. destruct (minus_finite _ _ Least) as [_ [_ Em]].
  in_reals. rewrite Ex in Enc. apply log_is_enclosed; try assumption; try apply double_is_float.
  - rewrite <- Ex. apply double_is_float.
  - rewrite <- Ex. rewrite Bltb_correct in Less by (reflexivity || assumption).
    rewrite <- Em. destruct (Rlt_bool_spec (B2R zero64) (B2R (minus64 x r))); [assumption|discriminate].
Qed.

Definition two_pi64 : double := near64 two_pi.
Definition turn_slope64 : double := near64 turn_slope.
Definition turn_error64 : double := near64 turn_error.
Definition sine64 (y : double) : double :=
  let square := times64 y y in
  plus64 y (times64 y (times64 square (horner64 square (doubles64 sine_terms)))).
Definition cosine64 (y : double) : double :=
  let square := times64 y y in
  plus64 one64 (times64 square (horner64 square (doubles64 cosine_terms))).
Definition angle64 (m q : double) : double := times64 two_pi64 (minus64 m (over64 q four64)).
Definition turn_cosine64 (m q : double) (quarter : Z) : double :=
  let part := if Z.abs (quarter - 2) =? 1 then sine64 (angle64 m q) else cosine64 (angle64 m q) in
  if quarter =? 1 then Bopp part else if quarter =? 2 then Bopp part else part.
Definition turn_sine64 (m q : double) (quarter : Z) : double :=
  let part := if Z.abs (quarter - 2) =? 1 then cosine64 (angle64 m q) else sine64 (angle64 m q) in
  if quarter =? 2 then Bopp part else if quarter =? 3 then Bopp part else part.
Definition turn_radius64 (r : double) : double := outward64 (plus64 (times64 turn_slope64 r) turn_error64).

Lemma two_pi64_is : finite two_pi64 /\ B2R two_pi64 = two_pi.
Proof. unfold two_pi64, two_pi. constant 47%Z. Qed.
Lemma turn_slope64_is : finite turn_slope64 /\ B2R turn_slope64 = turn_slope.
Proof. unfold turn_slope64, turn_slope. constant 0%Z. Qed.
Lemma turn_error64_is : finite turn_error64 /\ B2R turn_error64 = turn_error.
Proof. unfold turn_error64, turn_error. constant 51%Z. Qed.

Lemma parts_within : forall y, within 1 y ->
  (finite (sine64 y) /\ B2R (sine64 y) = sine_rounded (B2R y)) /\
  (finite (cosine64 y) /\ B2R (cosine64 y) = cosine_rounded (B2R y)).
Proof.
  intros y Y. destruct (number_within 1 ltac:(lia)) as [One E1]. fold one64 in One, E1.
  destruct (factor_within y y 1 1 Y Y ltac:(lia)) as [S Es]. unfold sine64, cosine64. cbv zeta. set (s := times64 y y) in *.
  destruct (horner_within sine_terms s S sine_coefficients ltac:(vm_compute; lia)) as [H Eh].
  destruct (horner_within cosine_terms s S cosine_coefficients ltac:(vm_compute; lia)) as [C Ec].
  change (Z.of_nat (length sine_terms)) with 8%Z in H. change (Z.of_nat (length cosine_terms)) with 8%Z in C.
  destruct (factor_within s _ 1 8 S H ltac:(lia)) as [P Ep]. destruct (factor_within s _ 1 8 S C ltac:(lia)) as [Q Eq].
  destruct (factor_within y _ 1 _ Y P ltac:(lia)) as [T Et].
  destruct (term_within y _ 1 _ Y T ltac:(lia)) as [U Eu]. destruct (term_within one64 _ 1 _ One Q ltac:(lia)) as [V Ev].
  unfold sine_rounded, cosine_rounded. cbv zeta. split; (split; [apply U || apply V|]).
  - rewrite Eu, Et, Ep, Eh, Es. reflexivity.
  - rewrite Ev, Eq, Ec, E1, Es. reflexivity.
Qed.

(** Cosines and sines of all doubles from 0 to 1, with any radius. *)
Theorem doubles_turns : forall m q quarter r x, 0 <= B2R m <= 1 -> finite m -> finite q -> B2R q = IZR quarter ->
  Rabs (4 * B2R m - IZR quarter) <= 1 / 2 -> says m r x ->
  says (turn_cosine64 m q quarter) (turn_radius64 r) (cos (2 * PI * x)) /\
  says (turn_sine64 m q quarter) (turn_radius64 r) (sin (2 * PI * x)).
Proof.
  intros m q quarter r x M Fm Fq Eq Near X.
  destruct (number_within 4 ltac:(lia)) as [Four E4]. fold four64 in Four, E4.
  destruct (rest_is_exact (B2R m) quarter (double_is_float m) M Near) as [Q [Exact B]].
  assert (Whole : rounded (IZR quarter / 4) = IZR quarter / 4).
  { apply round_generic; [apply valid_rnd_N|].
    apply (constant_is_float quarter 4 2); [lia|apply Z.le_lt_trans with 4%Z; [lia|reflexivity]|reflexivity]. }
  destruct (over_within q four64 4 Fq (proj1 Four) ltac:(lra) ltac:(lia)) as [Wd Ed].
  { rewrite Eq, E4. assert (0 <= IZR quarter <= 4) by (split; apply IZR_le; lia). apply Rabs_le. lra. }
  rewrite Eq, E4, Whole in Ed.
  destruct (minus_within m (over64 q four64) 1 Fm (proj1 Wd) ltac:(lia)) as [Wr Er]; [rewrite Ed; lra|].
  rewrite Ed in Er. destruct two_pi64_is as [Fp Ep].
  destruct (times_within two_pi64 (minus64 m (over64 q four64)) 1 Fp (proj1 Wr) ltac:(lia)) as [Wa Ea].
  { rewrite Ep, Er, Exact, Rabs_mult. unfold two_pi. rewrite (Rabs_right (_ / _)) by lra.
    pose proof (Rabs_pos (B2R m - IZR quarter / 4)). lra. }
  fold (angle64 m q) in Wa, Ea. rewrite Ep, Er in Ea.
  destruct (parts_within _ Wa) as [[Fs Es] [Fc Ec]]. rewrite Ea in Es, Ec.
  change (rounded (two_pi * rounded (B2R m - IZR quarter / 4))) with (angle_rounded (rounded (B2R m - IZR quarter / 4))) in Es, Ec.
  assert (C : finite (turn_cosine64 m q quarter) /\ B2R (turn_cosine64 m q quarter) = turn_cosine (B2R m) quarter).
  { unfold turn_cosine64, turn_cosine, finite in *. cbv zeta.
    destruct (Z.abs (quarter - 2) =? 1)%Z, (quarter =? 1)%Z, (quarter =? 2)%Z;
      rewrite ?is_finite_Bopp, ?B2R_Bopp, ?Es, ?Ec; split; assumption || reflexivity. }
  assert (S : finite (turn_sine64 m q quarter) /\ B2R (turn_sine64 m q quarter) = turn_sine (B2R m) quarter).
  { unfold turn_sine64, turn_sine, finite in *. cbv zeta.
    destruct (Z.abs (quarter - 2) =? 1)%Z, (quarter =? 2)%Z, (quarter =? 3)%Z;
      rewrite ?is_finite_Bopp, ?B2R_Bopp, ?Es, ?Ec; split; assumption || reflexivity. }
  assert (R : finite (turn_radius64 r) -> finite r /\ B2R (turn_radius64 r) = turn_radius (B2R r)).
  { intros F. unfold turn_radius64 in *. destruct (outward_finite _ F) as [G E]. rewrite E. clear F E.
    destruct turn_slope64_is as [_ Et], turn_error64_is as [_ El]. apart. split; [assumption|]. in_reals. reflexivity. }
  destruct C as [Ca Cb], S as [Sa Sb].
  split; intros F; destruct (R F) as [G E]; destruct (X G) as [_ Enc]; (split; [assumption|]); rewrite E, ?Cb, ?Sb;
    destruct (turns_are_enclosed (B2R m) (B2R r) quarter x (double_is_float m) (double_is_float r) M Near Enc); assumption.
Qed.
