(** All doubles, infinities and numbers that are none among them: operations of IEEE 754 as Flocq defines them, with
    overflow. Where a radius comes out finite, no intermediate has overflowed and the enclosure holds; what
    the theorems of Enclosures.v and Twofold.v say of floats without a largest one is true of doubles. *)

From Coq Require Import ZArith Reals Lra Lia List Bool SpecFloat.
From Flocq Require Import Core BinarySingleNaN.
From Proofs Require Import FloatConstants Exact Enclosures Twofold.
Open Scope R_scope.

Definition double := binary_float 53 1024.
#[local] Existing Instance precision.
#[local] Instance exponents : Prec_lt_emax 53 1024 := eq_refl.

Definition plus64 (a b : double) : double := Bplus mode_NE a b.
Definition minus64 (a b : double) : double := Bminus mode_NE a b.
Definition times64 (a b : double) : double := Bmult mode_NE a b.
Definition over64 (a b : double) : double := Bdiv mode_NE a b.
Definition root64 (a : double) : double := Bsqrt mode_NE a.
Definition size64 (a : double) : double := Babs a.
Definition infinite : double := B754_infinity false.
Definition zero64 : double := B754_zero false.

(** The double next to a real number, infinite beyond the largest. *)
Definition near64 (x : R) : double :=
  binary_normalize 53 1024 precision exponents mode_NE (ZnearestE (scaled_mantissa radix2 float64 x))
    (cexp radix2 float64 x) false.

Definition finite (a : double) : Prop := is_finite a = true.
Definition top : R := bpow radix2 1024.

Lemma double_is_float : forall a : double, is_float (B2R a).
Proof. intros a. apply (generic_format_B2R 53 1024). Qed.

Lemma double_below_top : forall a : double, Rabs (B2R a) < top.
Proof. intros a. apply abs_B2R_lt_emax. Qed.

(** * One operation: a finite result comes of finite numbers, and is the rounded one *)

Lemma infinite_is_not_finite : forall (a : double) s, B2SF a = S754_infinity s -> is_finite a = false.
Proof. intros a s E. destruct a; simpl in *; congruence. Qed.

Lemma plus_parts : forall a b, finite (plus64 a b) -> finite a /\ finite b.
Proof.
  intros [sa|sa| |sa ma ea Ea] [sb|sb| |sb mb eb Eb]; unfold finite, plus64; simpl; try easy. now destruct sa, sb.
Qed.

Lemma plus_finite : forall a b, finite (plus64 a b) ->
  finite a /\ finite b /\ B2R (plus64 a b) = rounded (B2R a + B2R b).
Proof.
  intros a b F. destruct (plus_parts a b F) as [A B]. split; [exact A|]. split; [exact B|].
  pose proof (Bplus_correct 53 1024 precision exponents mode_NE a b A B) as C.
  destruct (Rlt_bool _ _); [apply C|]. destruct C as [C _].
  apply infinite_is_not_finite in C. unfold finite, plus64 in F. congruence.
Qed.

Lemma minus_is_plus : forall a b, minus64 a b = plus64 a (Bopp b).
Proof. intros [| | |] [| | |]; reflexivity. Qed.

Lemma minus_finite : forall a b, finite (minus64 a b) ->
  finite a /\ finite b /\ B2R (minus64 a b) = rounded (B2R a - B2R b).
Proof.
  intros a b F. rewrite minus_is_plus in *. destruct (plus_finite _ _ F) as [A [B E]].
  rewrite B2R_Bopp in E. unfold finite in *. rewrite is_finite_Bopp in B. auto.
Qed.

Lemma times_finite : forall a b, finite (times64 a b) ->
  finite a /\ finite b /\ B2R (times64 a b) = rounded (B2R a * B2R b).
Proof.
  intros a b F. pose proof (Bmult_correct 53 1024 precision exponents mode_NE a b) as C.
  unfold finite, times64 in *.
  destruct (Rlt_bool _ _).
  - destruct C as [E [G _]]. rewrite F in G. symmetry in G. apply andb_prop in G. tauto.
  - apply infinite_is_not_finite in C. congruence.
Qed.

(** The divisor must be finite: a number over infinity is zero. *)
Lemma over_finite : forall a b, finite b -> finite (over64 a b) ->
  finite a /\ B2R b <> 0 /\ B2R (over64 a b) = rounded (B2R a / B2R b).
Proof.
  intros a b B F.
  assert (Z : B2R b <> 0).
  { destruct b as [sb|sb| |sb mb eb Eb]; try discriminate.
    - destruct a as [sa|sa| |sa ma ea Ea]; discriminate.
    - simpl. apply F2R_neq_0. destruct sb; discriminate. }
  pose proof (Bdiv_correct 53 1024 precision exponents mode_NE a b Z) as C. unfold finite, over64 in *.
  destruct (Rlt_bool _ _).
  - destruct C as [E [G _]]. rewrite F in G. auto.
  - apply infinite_is_not_finite in C. congruence.
Qed.

Lemma over_numerator : forall a b, finite (over64 a b) -> finite a.
Proof. intros [| | |] [| | |]; easy. Qed.

Lemma root_finite : forall a, finite (root64 a) -> finite a /\ B2R (root64 a) = rounded (sqrt (B2R a)).
Proof.
  intros a F. destruct (Bsqrt_correct 53 1024 precision exponents mode_NE a) as [E [G _]].
  unfold finite, root64 in *. rewrite F in G. split; [destruct a as [|[]| |[]]; easy|exact E].
Qed.

Lemma size_finite : forall a, finite (size64 a) -> finite a /\ B2R (size64 a) = Rabs (B2R a).
Proof.
  intros a F. unfold finite, size64 in *. rewrite is_finite_Babs in F. split; [exact F|apply B2R_Babs].
Qed.

Lemma size_is : forall a, B2R (size64 a) = Rabs (B2R a).
Proof. intros a. apply B2R_Babs. Qed.

Lemma near_is : forall x, Rabs (rounded x) < top -> finite (near64 x) /\ B2R (near64 x) = rounded x.
Proof.
  intros x T.
  pose proof (binary_normalize_correct 53 1024 precision exponents mode_NE
    (ZnearestE (scaled_mantissa radix2 float64 x)) (cexp radix2 float64 x) false) as C.
  cbv zeta in C. change (F2R _) with (rounded x) in C.
  change (round radix2 (SpecFloat.fexp 53 1024) (round_mode mode_NE) (rounded x)) with (rounded (rounded x)) in C.
  assert (E : rounded (rounded x) = rounded x).
  { apply round_generic; [apply valid_rnd_N|apply rounded_is_float]. }
  rewrite E, Rlt_bool_true in C by exact T. unfold finite, near64. tauto.
Qed.

(** A result below the largest double is finite. *)
Lemma plus_fits : forall a b, finite a -> finite b -> Rabs (rounded (B2R a + B2R b)) < top -> finite (plus64 a b).
Proof.
  intros a b A B T. pose proof (Bplus_correct 53 1024 precision exponents mode_NE a b A B) as C.
  rewrite Rlt_bool_true in C by exact T. apply C.
Qed.

Lemma minus_fits : forall a b, finite a -> finite b -> Rabs (rounded (B2R a - B2R b)) < top -> finite (minus64 a b).
Proof.
  intros a b A B T. pose proof (Bminus_correct 53 1024 precision exponents mode_NE a b A B) as C.
  rewrite Rlt_bool_true in C by exact T. apply C.
Qed.

Lemma times_fits : forall a b, finite a -> finite b -> Rabs (rounded (B2R a * B2R b)) < top -> finite (times64 a b).
Proof.
  intros a b A B T. pose proof (Bmult_correct 53 1024 precision exponents mode_NE a b) as C.
  rewrite Rlt_bool_true in C by exact T. unfold finite, times64 in *. destruct C as [_ [-> _]]. now rewrite A, B.
Qed.

Lemma over_fits : forall a b, finite a -> B2R b <> 0 -> Rabs (rounded (B2R a / B2R b)) < top -> finite (over64 a b).
Proof.
  intros a b A B T. pose proof (Bdiv_correct 53 1024 precision exponents mode_NE a b B) as C.
  rewrite Rlt_bool_true in C by exact T. unfold finite, over64 in *. destruct C as [_ [-> _]]. exact A.
Qed.

(** Finite numbers make no number that is none, and a sum with a size is not infinite below but for its other part. *)
Lemma times_of_finite : forall a b, finite a -> finite b -> is_nan (times64 a b) = false.
Proof.
  intros a b A B. pose proof (Bmult_correct 53 1024 precision exponents mode_NE a b) as C.
  destruct (Rlt_bool _ _).
  - destruct C as [_ [F _]]. unfold times64, finite in *. rewrite A, B in F.
    destruct (Bmult mode_NE a b); easy.
  - unfold times64. destruct (Bmult mode_NE a b); easy.
Qed.

Lemma times_is_a_number : forall a b, is_nan a = false -> finite b -> finite a \/ B2R b <> 0 ->
  is_nan (times64 a b) = false.
Proof.
  intros a b N B [A|Z].
  2:{ destruct (is_finite a) eqn:A; [apply times_of_finite; assumption|].
      destruct a; try easy. destruct b; try easy; elim Z; reflexivity. }
  apply times_of_finite; assumption.
Qed.

Lemma minus_is_a_number : forall a b, is_nan a = false -> finite b -> is_nan (minus64 a b) = false.
Proof.
  intros a b A B. destruct (is_finite a) eqn:F.
  - pose proof (Bminus_correct 53 1024 precision exponents mode_NE a b F B) as C.
    destruct (Rlt_bool _ _); unfold minus64 in *.
    + destruct C as [_ [G _]]. destruct (Bminus mode_NE a b); easy.
    + destruct C as [C _]. destruct (Bminus mode_NE a b); easy.
  - destruct a; try easy. destruct b; easy.
Qed.

Lemma size_plus_low : forall a r, plus64 (size64 a) r = B754_infinity true -> r = B754_infinity true.
Proof.
  intros a r E. destruct (is_finite a) eqn:A.
  - destruct (is_finite r) eqn:B.
    + pose proof (Bplus_correct 53 1024 precision exponents mode_NE (size64 a) r) as C.
      unfold size64, plus64 in *. rewrite is_finite_Babs in C. specialize (C A B).
      destruct (Rlt_bool _ _); [destruct C as [_ [F _]]; rewrite E in F; discriminate|].
      destruct C as [C _]. rewrite E in C.
      replace (Bsign (Babs a)) with false in C by (destruct a; reflexivity). discriminate.
    + destruct r as [|[]| |]; try discriminate; destruct a; try discriminate; reflexivity.
  - destruct a; try discriminate. destruct r as [|[]| |]; try discriminate; reflexivity.
Qed.

(** From here on only these lemmas are known of operations. *)
#[global] Opaque plus64 minus64 times64 over64 root64 size64 near64.

(** Take a finite number apart, down to what was given. *)
Ltac new t := lazymatch goal with _ : B2R t = _ |- _ => fail | _ => idtac end.
Ltac apart :=
  repeat match goal with
  | F : finite (plus64 ?a ?b) |- _ => new (plus64 a b); destruct (plus_finite a b F) as [? [? ?]]
  | F : finite (minus64 ?a ?b) |- _ => new (minus64 a b); destruct (minus_finite a b F) as [? [? ?]]
  | F : finite (times64 ?a ?b) |- _ => new (times64 a b); destruct (times_finite a b F) as [? [? ?]]
  | F : finite (size64 ?a) |- _ => new (size64 a); destruct (size_finite a F) as [? ?]
  | F : finite (root64 ?a) |- _ => new (root64 a); destruct (root_finite a F) as [? ?]
  end.

(** What was taken apart, in real numbers that are rounded. *)
Ltac in_reals := repeat match goal with E : B2R ?t = _ |- context [B2R ?t] => rewrite E end.

(** * Constants *)

Definition unit64 : double := near64 unit_roundoff.
Definition relative64 : double := near64 relative.
Definition absolute64 : double := near64 absolute.
Definition splitter64 : double := near64 splitter.
Definition underflow64 : double := near64 underflow.
Definition twice_unit64 : double := near64 (2 * unit_roundoff).

(** n 2^e, for n of 53 bits, as the source of the program has its numbers. *)
Lemma constant_is_float : forall n d e, (0 <= e <= 1074)%Z -> (Z.abs n < 2 ^ 53)%Z -> d = (2 ^ e)%Z ->
  is_float (IZR n / IZR d) /\ Rabs (IZR n / IZR d) < top.
Proof.
  intros n d e E N ->.
  assert (Eq : IZR n / IZR (2 ^ e) = F2R (Float radix2 n (- e))).
  { unfold F2R. simpl. rewrite bpow_opp. unfold Rdiv. do 2 f_equal. rewrite <- IZR_Zpower by lia. reflexivity. }
  rewrite Eq. split.
  - apply generic_format_FLT. exists (Float radix2 n (- e)); simpl; [reflexivity|lia|lia].
  - rewrite <- Eq. unfold Rdiv. rewrite Rabs_mult.
    assert (P : 1 <= IZR (2 ^ e)) by (apply IZR_le; pose proof (Z.pow_pos_nonneg 2 e); lia).
    rewrite (Rabs_right (/ _)) by (apply Rle_ge; left; apply Rinv_0_lt_compat; lra).
    apply Rle_lt_trans with (Rabs (IZR n) * 1).
    + apply Rmult_le_compat_l; [apply Rabs_pos|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
    + rewrite Rmult_1_r, <- abs_IZR. apply Rlt_trans with (IZR (2 ^ 53)); [apply IZR_lt, N|].
      change (IZR (2 ^ 53)) with (bpow radix2 53). apply bpow_lt. lia.
Qed.

Ltac constant e :=
    match goal with |- _ (near64 (IZR ?n / IZR ?d)) /\ _ =>
      destruct (constant_is_float n d e ltac:(lia) ltac:(vm_compute; reflexivity) ltac:(vm_compute; reflexivity))
        as [IF TOP];
      assert (EQ : rounded (IZR n / IZR d) = IZR n / IZR d) by (apply round_generic; [apply valid_rnd_N|exact IF]);
      rewrite <- EQ in TOP; destruct (near_is _ TOP) as [FIN VAL]; rewrite EQ in VAL; split; [exact FIN|exact VAL] end.

Lemma unit64_is : finite unit64 /\ B2R unit64 = unit_roundoff.
Proof. unfold unit64, unit_roundoff. constant 53%Z. Qed.
Lemma twice_unit64_is : finite twice_unit64 /\ B2R twice_unit64 = 2 * unit_roundoff.
Proof.
  unfold twice_unit64, unit_roundoff, Rdiv. rewrite <- Rmult_assoc, <- mult_IZR. simpl (2 * _)%Z.
  change (?a * / ?b) with (a / b). constant 53%Z.
Qed.
Lemma relative64_is : finite relative64 /\ B2R relative64 = relative.
Proof. unfold relative64, relative. constant 45%Z. Qed.
Lemma splitter64_is : finite splitter64 /\ B2R splitter64 = splitter.
Proof. unfold splitter64, splitter. constant 0%Z. Qed.
Lemma underflow64_is : finite underflow64 /\ B2R underflow64 = underflow.
Proof. unfold underflow64, underflow. constant 799%Z. Qed.
Lemma absolute64_is : finite absolute64 /\ B2R absolute64 = absolute.
Proof. unfold absolute64, absolute. constant 1000%Z. Qed.

(** * Enclosures *)

(** What an enclosure says: nothing where its radius is infinite or no number. *)
Definition says (m r : double) (x : R) : Prop := finite r -> finite m /\ encloses (B2R m) (B2R r) x.

Definition outward64 (radius : double) : double := plus64 (times64 radius relative64) absolute64.
Definition sum_radius64 (m1 r1 m2 r2 : double) : double :=
  outward64 (plus64 (plus64 r1 r2) (times64 unit64 (size64 (plus64 m1 m2)))).
Definition product_radius64 (m1 r1 m2 r2 : double) : double :=
  outward64 (plus64 (plus64 (times64 (size64 m1) r2) (times64 r1 (plus64 (size64 m2) r2)))
    (times64 unit64 (size64 (times64 m1 m2)))).
Definition root_radius64 (m r : double) : double :=
  outward64 (if Bltb r m then plus64 (over64 r (root64 m)) (times64 unit64 (root64 m)) else infinite).
Definition quotient_radius64 (m1 r1 m2 r2 : double) : double :=
  outward64 (if Bltb zero64 (minus64 m2 r2)
    then plus64 (over64 (outward64 (plus64 r1 (times64 (outward64 (size64 (over64 m1 m2))) r2))) (minus64 m2 r2))
      (times64 twice_unit64 (size64 (over64 m1 m2)))
    else infinite).

Lemma outward_finite : forall r, finite (outward64 r) -> finite r /\ B2R (outward64 r) = outward (B2R r).
Proof.
  intros r F. unfold outward64 in *. apart.
  destruct relative64_is as [_ R], absolute64_is as [_ A]. split; [assumption|].
  unfold outward. congruence.
Qed.

Theorem doubles_sum : forall m1 r1 m2 r2 x y, says m1 r1 x -> says m2 r2 y ->
  says (plus64 m1 m2) (sum_radius64 m1 r1 m2 r2) (x + y).
Proof.
  intros m1 r1 m2 r2 x y X Y F. unfold sum_radius64 in *. destruct (outward_finite _ F) as [G E]. clear F.
  destruct unit64_is as [_ U]. rewrite E. apart. split; [assumption|].
  destruct X as [_ X], Y as [_ Y]; try assumption.
  in_reals. apply sum_is_enclosed; auto using double_is_float.
Qed.

Theorem doubles_product : forall m1 r1 m2 r2 x y, says m1 r1 x -> says m2 r2 y ->
  says (times64 m1 m2) (product_radius64 m1 r1 m2 r2) (x * y).
Proof.
  intros m1 r1 m2 r2 x y X Y F. unfold product_radius64 in *. destruct (outward_finite _ F) as [G E]. clear F.
  destruct unit64_is as [_ U]. rewrite E. apart. split; [assumption|].
  destruct X as [_ X], Y as [_ Y]; try assumption.
  in_reals. apply product_is_enclosed; auto using double_is_float.
Qed.

(** Roots, where the radius is below the middle, and quotients, where the least divisor is above zero: elsewhere
    the program takes an infinite radius. *)
Lemma infinite_is_outward : ~ finite (outward64 infinite).
Proof. intros F. destruct (outward_finite _ F). discriminate. Qed.

Theorem doubles_root : forall m r x, says m r x -> says (root64 m) (root_radius64 m r) (sqrt x).
Proof.
  intros m r x X F. unfold root_radius64 in *.
  destruct (Bltb r m) eqn:Less; [|now elim infinite_is_outward].
  destruct (outward_finite _ F) as [G E]. clear F.
  destruct unit64_is as [_ U]. rewrite E. apart. split; [assumption|].
  match goal with D : finite (over64 ?a ?b) |- _ => destruct (over_finite a b ltac:(assumption) D) as [? [? ?]] end.
  destruct X as [_ X]; try assumption.
  in_reals. apply root_is_enclosed; auto using double_is_float.
  rewrite Bltb_correct in Less by assumption. destruct (Rlt_bool_spec (B2R r) (B2R m)); [assumption|discriminate].
Qed.

Lemma least_is_finite : forall m r, finite m -> finite r -> 0 <= B2R r -> Bltb zero64 (minus64 m r) = true ->
  finite (minus64 m r).
Proof.
  intros m r M R P Less.
  pose proof (Bminus_correct 53 1024 precision exponents mode_NE m r M R) as C.
  destruct (Rlt_bool_spec (Rabs (round radix2 (fexp 53 1024) (round_mode mode_NE) (B2R m - B2R r))) (bpow radix2 1024)) as [L|L];
    [apply C|exfalso]. change (top <= Rabs (rounded (B2R m - B2R r))) in L.
  destruct C as [C S]. unfold Bltb in Less. change (minus64 m r) with (Bminus mode_NE m r) in Less. rewrite C in Less.
  destruct (Bsign m); [discriminate|].
  assert (Z : B2R r = 0).
  { destruct r as [| | |[] n e E]; try reflexivity; simpl in S, P |- *; [|discriminate].
    pose proof (F2R_lt_0 radix2 (Float radix2 (Z.neg n) e) ltac:(reflexivity)). simpl in *. lra. }
  rewrite Z, Rminus_0_r in L. unfold rounded in L. rewrite round_generic in L.
  - pose proof (double_below_top m). lra.
  - apply valid_rnd_N.
  - apply double_is_float.
Qed.

Theorem doubles_quotient : forall m1 r1 m2 r2 x y, says m1 r1 x -> says m2 r2 y ->
  says (over64 m1 m2) (quotient_radius64 m1 r1 m2 r2) (x / y).
Proof.
  intros m1 r1 m2 r2 x y X Y F. unfold quotient_radius64 in *.
  destruct (Bltb _ _) eqn:Less; [|now elim infinite_is_outward].
  destruct (outward_finite _ F) as [G E]. clear F.
  destruct twice_unit64_is as [_ U]. rewrite E. apart. split; [assumption|].
  match goal with D : finite (over64 (outward64 _) ?b) |- _ => pose proof (over_numerator _ _ D) as N; rename D into Part end.
  destruct (outward_finite _ N) as [N1 N2]. apart.
  match goal with D : finite (outward64 (size64 (over64 m1 m2))) |- _ => destruct (outward_finite _ D) as [N3 N4] end. apart.
  destruct Y as [M2 Y]; [assumption|]. destruct X as [M1 X]; [assumption|].
  assert (Least : finite (minus64 m2 r2)).
  { apply least_is_finite; try assumption. unfold encloses in Y. pose proof (Rabs_pos (y - B2R m2)). lra. }
  destruct (over_finite _ _ Least Part) as [_ [_ E1]]. destruct (over_finite m1 m2 M2 ltac:(assumption)) as [_ [_ E2]].
  destruct (minus_finite _ _ Least) as [_ [_ E3]].
  in_reals. apply quotient_is_enclosed; auto using double_is_float.
  rewrite Bltb_correct in Less by (reflexivity || assumption).
  rewrite <- E3. destruct (Rlt_bool_spec (B2R zero64) (B2R (minus64 m2 r2))); [assumption|discriminate].
Qed.
