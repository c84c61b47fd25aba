(** Pairs of doubles (`numerics/twofold.py`), infinities and numbers that are none among them: where radius and lower
    part come out finite no intermediate has overflowed, and the pair's enclosure holds. *)

From Coq Require Import ZArith Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Proofs Require Import FloatConstants Exact Enclosures Twofold Overflow.
Open Scope R_scope.

Definition pair_rest64 (a b : double) : double :=
  let total := plus64 a b in
  let part := minus64 total a in
  plus64 (minus64 a (minus64 total part)) (minus64 b part).
Definition upper_half64 (a : double) : double :=
  let large := times64 splitter64 a in minus64 large (minus64 large a).
Definition product_rest64 (a b : double) : double :=
  let a_high := upper_half64 a in
  let b_high := upper_half64 b in
  let a_low := minus64 a a_high in
  let b_low := minus64 b b_high in
  plus64 (plus64 (plus64 (minus64 (times64 a_high b_high) (times64 a b)) (times64 a_high b_low))
    (times64 a_low b_high)) (times64 a_low b_low).

Definition rest_of_sum64 (h1 l1 h2 l2 : double) : double := plus64 (pair_rest64 h1 h2) (plus64 l1 l2).
Definition pair_sum_radius64 (h1 l1 r1 h2 l2 r2 : double) : double :=
  let lower := plus64 l1 l2 in
  outward64 (plus64 (plus64 r1 r2)
    (times64 unit64 (plus64 (size64 lower) (size64 (rest_of_sum64 h1 l1 h2 l2))))).

Definition rest_of_product64 (h1 l1 h2 l2 : double) : double :=
  plus64 (product_rest64 h1 h2) (plus64 (times64 h1 l2) (times64 l1 h2)).
Definition pair_product_radius64 (h1 l1 r1 h2 l2 r2 : double) : double :=
  let first := times64 h1 l2 in
  let second := times64 l1 h2 in
  let cross := plus64 first second in
  let rest := rest_of_product64 h1 l1 h2 l2 in
  let sizes := plus64 (plus64 (plus64 (size64 first) (size64 second)) (size64 cross)) (size64 rest) in
  let rounding := plus64 (plus64 (times64 unit64 sizes) (size64 (times64 l1 l2))) underflow64 in
  let reach := plus64 (plus64 (size64 h2) (size64 l2)) r2 in
  let carried := plus64 (times64 (plus64 (size64 h1) (size64 l1)) r2) (times64 r1 reach) in
  outward64 (plus64 carried rounding).

(** What a pair says: nothing where its radius or its lower part is infinite or no number. *)
Definition pair_says (h l r : double) (x : R) : Prop :=
  finite r -> finite l -> finite h /\ encloses (B2R h + B2R l) (B2R r) x.

Lemma rest_finite : forall a b, finite (pair_rest64 a b) ->
  finite a /\ finite b /\ finite (plus64 a b) /\ B2R (plus64 a b) = pair_sum (B2R a) (B2R b) /\
  B2R (pair_rest64 a b) = pair_rest (B2R a) (B2R b).
Proof.
  intros a b F. unfold pair_rest64 in *. cbv zeta in *. apart. repeat (split; [assumption|]).
  unfold pair_rest. cbv zeta. in_reals. split; reflexivity.
Qed.

Lemma half_finite : forall a, finite (upper_half64 a) -> B2R (upper_half64 a) = upper_half (B2R a).
Proof.
  intros a F. unfold upper_half64 in *. cbv zeta in *. apart. destruct splitter64_is as [_ S].
  unfold upper_half. cbv zeta. in_reals. reflexivity.
Qed.

Lemma product_rest_finite : forall a b, finite (product_rest64 a b) ->
  finite a /\ finite b /\ finite (times64 a b) /\ B2R (times64 a b) = rounded (B2R a * B2R b) /\
  B2R (product_rest64 a b) = product_rest (B2R a) (B2R b).
Proof.
  intros a b F. unfold product_rest64 in *. cbv zeta in *. apart.
  pose proof (half_finite a ltac:(assumption)) as Ha. pose proof (half_finite b ltac:(assumption)) as Hb.
  unfold product_rest. cbv zeta. in_reals. repeat split; assumption || reflexivity.
Qed.

Theorem doubles_pair_sum : forall h1 l1 r1 h2 l2 r2 x y, pair_says h1 l1 r1 x -> pair_says h2 l2 r2 y ->
  let total := plus64 h1 h2 in
  let rest := rest_of_sum64 h1 l1 h2 l2 in
  pair_says (plus64 total rest) (pair_rest64 total rest) (pair_sum_radius64 h1 l1 r1 h2 l2 r2) (x + y).
Proof.
  intros h1 l1 r1 h2 l2 r2 x y X Y total rest F L.
  destruct (rest_finite _ _ L) as [Ft [Fr [Fs [Es El]]]]. split; [exact Fs|].
  destruct (outward_finite _ F) as [G E]. clear F. fold rest in G, E. apart.
  subst rest. unfold rest_of_sum64 in Fr. pose proof Fr as Whole. apart.
  destruct (rest_finite h1 h2 ltac:(assumption)) as [_ [_ [_ [E1 E2]]]].
  destruct X as [_ X], Y as [_ Y]; try assumption. destruct unit64_is as [_ U].
  subst total. unfold pair_sum_radius64. cbv zeta. unfold rest_of_sum64 in *. in_reals.
  apply sum_of_pairs_is_enclosed; auto using double_is_float.
Qed.

Theorem doubles_pair_product : forall h1 l1 r1 h2 l2 r2 x y, pair_says h1 l1 r1 x -> pair_says h2 l2 r2 y ->
  let product := times64 h1 h2 in
  let rest := rest_of_product64 h1 l1 h2 l2 in
  pair_says (plus64 product rest) (pair_rest64 product rest) (pair_product_radius64 h1 l1 r1 h2 l2 r2) (x * y).
Proof.
  intros h1 l1 r1 h2 l2 r2 x y X Y product rest F L.
  destruct (rest_finite _ _ L) as [Ft [Fr [Fs [Es El]]]]. split; [exact Fs|].
  destruct (outward_finite _ F) as [G E]. clear F. fold rest in G, E. apart.
  subst rest. unfold rest_of_product64 in Fr. apart.
  destruct (product_rest_finite h1 h2 ltac:(assumption)) as [_ [_ [_ [E1 E2]]]].
  destruct X as [_ X], Y as [_ Y]; try assumption. destruct unit64_is as [_ U], underflow64_is as [_ V].
  subst product. unfold pair_product_radius64. cbv zeta. unfold rest_of_product64 in *. in_reals.
  apply product_of_pairs_is_enclosed; auto using double_is_float.
Qed.

(** Quotients, roots and logarithms of pairs are taken in ball arithmetic, which is trusted here: what a ball is known
    to be within of high + low is rounded to a double, and the radius still holds it. *)
Theorem balls_are_pairs : forall h l r bound x, finite h -> 0 <= bound -> B2R r = rounded bound ->
  Rabs (x - (B2R h + B2R l)) <= bound -> pair_says h l (outward64 r) x.
Proof.
  intros h l r bound x H P R X F L. split; [exact H|]. destruct (outward_finite _ F) as [_ E].
  unfold encloses. rewrite E. apply Rle_trans with (1 := X).
  pose proof (rounded_low bound P) as Low. pose proof tiny_positive.
  apply outward_holds; [apply double_is_float|rewrite R; apply rounded_not_negative, P|exact P|].
  rewrite R. apply Rle_trans with (2 := Low). unfold u. lra.
Qed.
