(** Sums of many enclosures of doubles, infinities and numbers that are none among them, in any order: where the radius
    is finite none of the additions has overflowed. *)

From Coq Require Import ZArith Reals Lra Lia List Permutation.
From Flocq Require Import Core BinarySingleNaN.
From Proofs Require Import Constants FloatConstants Exact Enclosures Twofold Totals Overflow.
Import ListNotations.
Open Scope R_scope.

Inductive tree64 := One64 (x : double) | Two64 (a b : tree64).
Fixpoint in_doubles (t : tree64) : double :=
  match t with One64 x => x | Two64 a b => plus64 (in_doubles a) (in_doubles b) end.
Fixpoint leaves64 (t : tree64) : list double :=
  match t with One64 x => [x] | Two64 a b => leaves64 a ++ leaves64 b end.
Fixpoint reals (t : tree64) : tree :=
  match t with One64 x => One (B2R x) | Two64 a b => Two (reals a) (reals b) end.

Lemma leaves_of_reals : forall t, leaves (reals t) = map B2R (leaves64 t).
Proof. induction t; simpl; [reflexivity|]. now rewrite map_app, IHt1, IHt2. Qed.

Lemma tree_finite : forall t, finite (in_doubles t) ->
  Forall finite (leaves64 t) /\ B2R (in_doubles t) = in_floats (reals t).
Proof.
  induction t as [x|a IHa b IHb]; simpl; intros F; [auto|].
  destruct (plus_finite _ _ F) as [Fa [Fb E]]. destruct (IHa Fa) as [A Ea], (IHb Fb) as [B Eb].
  split; [apply Forall_app; auto|]. now rewrite E, Ea, Eb.
Qed.

Definition sum_relative64 : double := near64 sum_relative.
Lemma sum_relative64_is : finite sum_relative64 /\ B2R sum_relative64 = sum_relative.
Proof. unfold sum_relative64, sum_relative. constant 30%Z. Qed.

(** Zero times a sum that overflowed is no number, and neither is the radius then. *)
Definition many_radius64 (count : nat) (radii sizes middle : double) : double :=
  let all := plus64 sizes (times64 zero64 middle) in
  outward64 (times64 (plus64 radii (times64 (times64 (near64 (INR count)) unit64) all)) sum_relative64).

Record number64 := Number64 { middle64 : double; radius64 : double; value64 : R }.

Theorem doubles_many : forall numbers middles radii sizes,
  Forall (fun n => says (middle64 n) (radius64 n) (value64 n)) numbers ->
  INR (length numbers) <= IZR most_terms ->
  Permutation (leaves64 middles) (map middle64 numbers) ->
  Permutation (leaves64 radii) (map radius64 numbers) ->
  Permutation (leaves64 sizes) (map (fun n => size64 (middle64 n)) numbers) ->
  says (in_doubles middles)
    (many_radius64 (length numbers) (in_doubles radii) (in_doubles sizes) (in_doubles middles))
    (real_sum (map value64 numbers)).
Proof.
  intros numbers tm tr ts K C Pm Pr Ps F. unfold many_radius64 in *. cbv zeta in *.
  destruct (outward_finite _ F) as [G E]. clear F. rewrite E. apart.
  destruct (tree_finite tm ltac:(assumption)) as [Fm Em]. destruct (tree_finite tr ltac:(assumption)) as [Fr Er].
  destruct (tree_finite ts ltac:(assumption)) as [Fs Es]. split; [assumption|].
  destruct unit64_is as [_ U], sum_relative64_is as [_ S].
  assert (N : B2R (near64 (INR (length numbers))) = INR (length numbers)).
  { rewrite INR_IZR_INZ in *. assert (Z.of_nat (length numbers) <= most_terms)%Z by (apply le_IZR, C).
    assert (I : rounded (IZR (Z.of_nat (length numbers))) = IZR (Z.of_nat (length numbers))).
    { apply integers_are_floats. unfold most_terms in *. lia. }
    destruct (near_is (IZR (Z.of_nat (length numbers)))) as [_ V]; [|now rewrite V].
    rewrite I, <- abs_IZR. apply Rle_lt_trans with (IZR (2 ^ 53)); [apply IZR_le; unfold most_terms in *; lia|].
    change (IZR (2 ^ 53)) with (bpow radix2 53). apply bpow_lt. lia. }
  assert (Z0 : rounded (B2R zero64 * B2R (in_doubles tm)) = 0).
  { simpl (B2R zero64). rewrite Rmult_0_l. apply round_0. apply valid_rnd_N. }
  assert (All : B2R (plus64 (in_doubles ts) (times64 zero64 (in_doubles tm))) = in_floats (reals ts)).
  { match goal with H : B2R (plus64 (in_doubles ts) _) = _ |- _ => rewrite H end.
    match goal with H : B2R (times64 zero64 _) = _ |- _ => rewrite H end.
    rewrite Z0, Rplus_0_r, <- Es. apply round_generic; [apply valid_rnd_N|apply double_is_float]. }
  set (real := fun n => Number (B2R (middle64 n)) (B2R (radius64 n)) (value64 n)).
  assert (Known : Forall known (map real numbers)).
  { apply Forall_map. apply (Permutation_Forall Pr) in Fr. rewrite Forall_forall in *.
    intros n I. destruct (K n I (Fr _ (in_map radius64 _ _ I))) as [_ Enc]. repeat split; try apply double_is_float. exact Enc. }
  pose proof (sum_of_many_is_enclosed (map real numbers) (reals tm) (reals tr) (reals ts) Known) as T.
  rewrite map_length, !map_map, !leaves_of_reals in T.
  specialize (T C). unfold many_radius in T.
  match goal with H : B2R (times64 _ sum_relative64) = _ |- _ => rewrite H end.
  match goal with H : B2R (plus64 (in_doubles tr) _) = _ |- _ => rewrite H end.
  match goal with H : B2R (times64 (times64 _ _) _) = _ |- _ => rewrite H end.
  match goal with H : B2R (times64 (near64 _) _) = _ |- _ => rewrite H end.
  rewrite All, N, U, S, Em, Er. apply T.
  - change (map (fun x => middle (real x)) numbers) with (map (fun x => B2R (middle64 x)) numbers).
    rewrite <- (map_map middle64 B2R). apply Permutation_map, Pm.
  - change (map (fun x => radius (real x)) numbers) with (map (fun x => B2R (radius64 x)) numbers).
    rewrite <- (map_map radius64 B2R). apply Permutation_map, Pr.
  - apply Permutation_trans with (map B2R (map (fun n => size64 (middle64 n)) numbers)); [apply Permutation_map, Ps|].
    rewrite map_map. apply Permutation_refl'. apply map_ext. intros n. simpl. apply size_is.
Qed.
