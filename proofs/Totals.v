(** Sums of many enclosures (`numerics/enclosures.py`, `numerics/twofold.py`): the radius holds the real sum, in
    whatever order floats are added. Overflow is as in Enclosures.v. *)

From Coq Require Import ZArith Reals Lra Lia Psatz List Permutation.
From Flocq Require Import Core.
From Proofs Require Import Constants FloatConstants Exact Enclosures Twofold.
Import ListNotations.
Open Scope R_scope.

(** The radius of a sum of so many enclosures, from the sum of their radii and that of the sizes of their
    middles, as floats give them. *)
Definition many_radius (count : nat) (radii sizes : R) : R :=
  outward (rounded (rounded (radii + rounded (rounded (INR count * unit_roundoff) * sizes)) * sum_relative)).

(** Additions in any order: a tree of them. *)
Inductive tree := One (x : R) | Two (a b : tree).
Fixpoint in_floats (t : tree) : R :=
  match t with One x => x | Two a b => rounded (in_floats a + in_floats b) end.
Fixpoint leaves (t : tree) : list R :=
  match t with One x => [x] | Two a b => leaves a ++ leaves b end.
Definition real_sum (numbers : list R) : R := fold_right Rplus 0 numbers.
Definition of_sizes (numbers : list R) : R := real_sum (map Rabs numbers).

Lemma real_sum_app : forall a b, real_sum (a ++ b) = real_sum a + real_sum b.
Proof. induction a; intros b; simpl; [ring|]. fold (real_sum (a0 ++ b)) (real_sum a0). rewrite IHa. ring. Qed.

Lemma real_sum_permuted : forall a b, Permutation a b -> real_sum a = real_sum b.
Proof. induction 1; simpl in *; try fold (real_sum l) (real_sum l') in *; try lra. Qed.

Lemma real_sum_not_negative : forall a, Forall (Rle 0) a -> 0 <= real_sum a.
Proof. induction 1; simpl; [lra|]. fold (real_sum l). lra. Qed.

Lemma sizes_not_negative : forall a, 0 <= of_sizes a.
Proof. intros a. apply real_sum_not_negative, Forall_map, Forall_forall. intros. apply Rabs_pos. Qed.

Lemma some_leaf : forall t, (1 <= length (leaves t))%nat.
Proof. induction t; simpl; [lia|]. rewrite app_length. lia. Qed.

Lemma tree_is_float : forall t, Forall is_float (leaves t) -> is_float (in_floats t).
Proof. destruct t; intros F; [now inversion F|apply rounded_is_float]. Qed.

(** Numbers that are not negative: what roundings may take away from their sum. *)
Lemma sum_is_low : forall t, Forall is_float (leaves t) -> Forall (Rle 0) (leaves t) ->
  0 <= in_floats t /\ (1 - (INR (length (leaves t)) - 1) * u) * real_sum (leaves t) <= in_floats t.
Proof.
  induction t as [x|a IHa b IHb]; intros F P.
  - inversion P. simpl. split; [assumption|]. lra.
  - simpl leaves in *. apply Forall_app in F as [Fa Fb]. apply Forall_app in P as [Pa Pb].
    destruct (IHa Fa Pa) as [Na La]. destruct (IHb Fb Pb) as [Nb Lb].
    pose proof (tree_is_float a Fa) as Ta. pose proof (tree_is_float b Fb) as Tb.
    cbn [in_floats]. split; [apply rounded_not_negative; lra|].
    apply Rle_trans with (2 := addition_low _ _ Ta Tb ltac:(lra)).
    rewrite real_sum_app, app_length, plus_INR.
    pose proof (real_sum_not_negative _ Pa) as Sa. pose proof (real_sum_not_negative _ Pb) as Sb.
    pose proof (le_INR _ _ (some_leaf a)) as Ca. pose proof (le_INR _ _ (some_leaf b)) as Cb. simpl INR in Ca, Cb.
    set (sa := real_sum (leaves a)) in *. set (sb := real_sum (leaves b)) in *.
    set (ca := INR (length (leaves a))) in *. set (cb := INR (length (leaves b))) in *.
    assert (U : 0 < u < 1) by (unfold u; lra).
    assert (A : (1 - (ca + cb - 1) * u) * sa <= (1 - u) * in_floats a).
    { apply Rle_trans with ((1 - u) * ((1 - (ca - 1) * u) * sa)); [|apply Rmult_le_compat_l; lra].
      rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [exact Sa|]. nra. }
    assert (B : (1 - (ca + cb - 1) * u) * sb <= (1 - u) * in_floats b).
    { apply Rle_trans with ((1 - u) * ((1 - (cb - 1) * u) * sb)); [|apply Rmult_le_compat_l; lra].
      rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [exact Sb|]. nra. }
    lra.
Qed.

(** The error of a sum of so many floats, in any order. *)
Definition slack : R := 1 + / 2 ^ 31.

Lemma sum_is_near : forall t, Forall is_float (leaves t) -> INR (length (leaves t)) <= IZR most_terms ->
  Rabs (in_floats t - real_sum (leaves t)) <= (INR (length (leaves t)) - 1) * u * slack * of_sizes (leaves t).
Proof.
  induction t as [x|a IHa b IHb]; intros F C.
  - simpl. replace (x - (x + 0)) with 0 by ring. rewrite Rabs_R0. lra.
  - simpl leaves in *. apply Forall_app in F as [Fa Fb]. rewrite app_length, plus_INR in C |- *.
    pose proof (le_INR _ _ (some_leaf a)) as Ca. pose proof (le_INR _ _ (some_leaf b)) as Cb. simpl INR in Ca, Cb.
    specialize (IHa Fa ltac:(lra)). specialize (IHb Fb ltac:(lra)).
    pose proof (tree_is_float a Fa) as Ta. pose proof (tree_is_float b Fb) as Tb.
    cbn [in_floats]. unfold of_sizes in *. rewrite map_app, !real_sum_app.
    pose proof (sizes_not_negative (leaves a)) as Sa. pose proof (sizes_not_negative (leaves b)) as Sb.
    unfold of_sizes in Sa, Sb.
    assert (Small : forall l, Rabs (real_sum l) <= real_sum (map Rabs l)).
    { clear. induction l; simpl; [rewrite Rabs_R0; lra|].
      fold (real_sum l) (real_sum (map Rabs l)). pose proof (Rabs_triang a (real_sum l)). lra. }
    pose proof (Small (leaves a)) as Ra. pose proof (Small (leaves b)) as Rb. clear Small.
    destruct (one_addition _ _ Ta Tb) as [e [E Eq]]. rewrite Eq.
    set (fa := in_floats a) in *. set (fb := in_floats b) in *.
    set (xa := real_sum (leaves a)) in *. set (xb := real_sum (leaves b)) in *.
    set (sa := real_sum (map Rabs (leaves a))) in *. set (sb := real_sum (map Rabs (leaves b))) in *.
    set (ca := INR (length (leaves a))) in *. set (cb := INR (length (leaves b))) in *.
    assert (Eu : Rabs e <= u).
    { apply Rle_trans with (1 := E). unfold Rdiv. rewrite <- (Rmult_1_r u) at 3.
      apply Rmult_le_compat_l; [unfold u; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; unfold u; lra. }
    (* Each part grows by one rounding at most. *)
    assert (One : forall c s f x, 1 <= c -> c + 1 <= IZR most_terms -> 0 <= s -> Rabs x <= s ->
      Rabs (f - x) <= (c - 1) * u * slack * s -> Rabs (f - x) + u * Rabs f <= c * u * slack * s).
    { clear. intros c s f x C M S X D.
      assert (B : Rabs f <= Rabs (f - x) + Rabs x).
      { replace f with ((f - x) + x) at 1 by ring. apply Rabs_triang. }
      assert (K : 0 <= (c - 1) * u <= / 2 ^ 32).
      { unfold most_terms in M. unfold u. simpl pow. lra. }
      apply Rle_trans with ((c - 1) * u * slack * s + u * ((c - 1) * u * slack * s + s)).
      - unfold u in *. lra.
      - assert (u * ((c - 1) * u * slack * s + s) <= u * slack * s); [|lra].
        rewrite (Rmult_assoc u slack). apply Rmult_le_compat_l; [unfold u; lra|].
        assert ((c - 1) * u * slack <= slack - 1); [|nra].
        apply Rle_trans with (/ 2 ^ 32 * slack); [apply Rmult_le_compat_r; [unfold slack; lra|apply K]|].
        unfold slack. lra. }
    pose proof (One ca sa fa xa Ca ltac:(lra) Sa Ra IHa) as Ga.
    pose proof (One cb sb fb xb Cb ltac:(lra) Sb Rb IHb) as Gb.
    replace ((fa + fb) * (1 + e) - (xa + xb)) with ((fa - xa) + (fb - xb) + e * (fa + fb)) by ring.
    pose proof (Rabs_triang (fa - xa + (fb - xb)) (e * (fa + fb))) as T1.
    pose proof (Rabs_triang (fa - xa) (fb - xb)) as T2. pose proof (Rabs_triang fa fb) as T3.
    rewrite Rabs_mult in T1.
    assert (Rabs e * Rabs (fa + fb) <= u * (Rabs fa + Rabs fb)).
    { apply Rmult_le_compat; try apply Rabs_pos; assumption. }
    assert (0 < u * slack) by (unfold u, slack; lra).
    assert (ca * u * slack * sa <= (ca + cb - 1) * u * slack * sa).
    { rewrite !(Rmult_assoc _ u slack). apply Rmult_le_compat_r; [exact Sa|]. apply Rmult_le_compat_r; lra. }
    assert (cb * u * slack * sb <= (ca + cb - 1) * u * slack * sb).
    { rewrite !(Rmult_assoc _ u slack). apply Rmult_le_compat_r; [exact Sb|]. apply Rmult_le_compat_r; lra. }
    lra.
Qed.

(** A number of terms times u is exact. *)
Lemma count_is_exact : forall count, INR count <= IZR most_terms ->
  rounded (INR count * unit_roundoff) = INR count * u.
Proof.
  intros count C. assert (unit_roundoff = u) as -> by (unfold unit_roundoff, u; lra).
  apply round_generic; [apply valid_rnd_N|].
  rewrite INR_IZR_INZ in *. apply le_IZR in C. unfold most_terms in C.
  apply generic_format_FLT. exists (Float radix2 (Z.of_nat count) (-53)); [|simpl; lia|simpl; lia].
  unfold F2R. cbn [Defs.Fnum Defs.Fexp]. reflexivity.
Qed.

(** Numbers with their middles and radii. The three sums may each be added up in an order of their own. *)
Record number := Number { middle : R; radius : R; value : R }.
Definition known (n : number) : Prop :=
  is_float (middle n) /\ is_float (radius n) /\ encloses (middle n) (radius n) (value n).

Theorem sum_of_many_is_enclosed : forall numbers middles radii sizes, Forall known numbers ->
  INR (length numbers) <= IZR most_terms ->
  Permutation (leaves middles) (map middle numbers) ->
  Permutation (leaves radii) (map radius numbers) ->
  Permutation (leaves sizes) (map (fun n => Rabs (middle n)) numbers) ->
  encloses (in_floats middles) (many_radius (length numbers) (in_floats radii) (in_floats sizes))
    (real_sum (map value numbers)).
Proof.
  intros numbers tm tr ts K C Pm Pr Ps.
  assert (Fm : Forall is_float (leaves tm)).
  { apply Permutation_Forall with (1 := Permutation_sym Pm), Forall_map, Forall_impl with (2 := K).
    intros n [A _]. exact A. }
  assert (Fr : Forall is_float (leaves tr)).
  { apply Permutation_Forall with (1 := Permutation_sym Pr), Forall_map, Forall_impl with (2 := K).
    intros n [_ [A _]]. exact A. }
  assert (Fs : Forall is_float (leaves ts)).
  { apply Permutation_Forall with (1 := Permutation_sym Ps), Forall_map, Forall_impl with (2 := K).
    intros n [A _]. apply generic_format_abs, A. }
  assert (Nr : Forall (Rle 0) (leaves tr)).
  { apply Permutation_Forall with (1 := Permutation_sym Pr), Forall_map, Forall_impl with (2 := K).
    intros n [_ [_ A]]. apply Rle_trans with (2 := A), Rabs_pos. }
  assert (Ns : Forall (Rle 0) (leaves ts)).
  { apply Permutation_Forall with (1 := Permutation_sym Ps), Forall_map, Forall_forall. intros. apply Rabs_pos. }
  assert (Lm : length (leaves tm) = length numbers) by (rewrite (Permutation_length Pm); apply map_length).
  assert (Lr : length (leaves tr) = length numbers) by (rewrite (Permutation_length Pr); apply map_length).
  assert (Ls : length (leaves ts) = length numbers) by (rewrite (Permutation_length Ps); apply map_length).
  pose proof (le_INR _ _ (some_leaf tm)) as Least. rewrite Lm in Least. simpl (INR 1) in Least.
  pose proof (sum_is_near tm Fm ltac:(rewrite Lm; exact C)) as Near.
  destruct (sum_is_low tr Fr Nr) as [R0 Rlow]. destruct (sum_is_low ts Fs Ns) as [S0 Slow].
  rewrite Lm in Near. rewrite Lr in Rlow. rewrite Ls in Slow.
  assert (Sizes : of_sizes (leaves tm) = real_sum (leaves ts)).
  { unfold of_sizes. rewrite (real_sum_permuted _ _ Ps). rewrite <- (map_map middle Rabs).
    apply real_sum_permuted, Permutation_map, Pm. }
  rewrite Sizes in Near.
  pose proof (real_sum_not_negative _ Nr) as R1. pose proof (real_sum_not_negative _ Ns) as S1.
  assert (Apart : Rabs (real_sum (map value numbers) - real_sum (leaves tm)) <= real_sum (leaves tr)).
  { rewrite (real_sum_permuted _ _ Pm), (real_sum_permuted _ _ Pr). clear -K.
    induction K as [|n l [_ [_ E]] _ IH]; simpl; [rewrite Rminus_0_r, Rabs_R0; lra|].
    fold (real_sum (map value l)) (real_sum (map middle l)) (real_sum (map radius l)). unfold encloses in E.
    replace (value n + real_sum (map value l) - (middle n + real_sum (map middle l)))
      with ((value n - middle n) + (real_sum (map value l) - real_sum (map middle l))) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _). lra. }
  set (x := real_sum (map value numbers)) in *. set (m := in_floats tm) in *.
  set (exact := real_sum (leaves tm)) in *. set (r := real_sum (leaves tr)) in *. set (s := real_sum (leaves ts)) in *.
  set (fr := in_floats tr) in *. set (fs := in_floats ts) in *. set (n := INR (length numbers)) in *.
  unfold encloses. apply Rle_trans with (r + (n - 1) * u * slack * s).
  { replace (x - m) with ((x - exact) + - (m - exact)) by ring.
    pose proof (Rabs_triang (x - exact) (- (m - exact))) as T. rewrite Rabs_Ropp in T. lra. }
  unfold many_radius. rewrite count_is_exact by exact C. fold n.
  assert (Ka : 0 <= (n - 1) * u <= / 2 ^ 32).
  { unfold most_terms in C. unfold u. simpl pow. lra. }
  set (k := (n - 1) * u) in *. replace (n * u) with (k + u) by (unfold k; ring).
  pose proof tiny_positive as Tiny. assert (U : 0 < u) by (unfold u; lra).
  assert (T0 : 0 <= (k + u) * fs) by (apply Rmult_le_pos; lra).
  pose proof (rounded_low _ T0) as L1. pose proof (rounded_not_negative _ T0) as N1.
  assert (Fr' : is_float fr) by (apply tree_is_float, Fr).
  pose proof (addition_low fr _ Fr' (rounded_is_float ((k + u) * fs)) ltac:(lra)) as L2.
  assert (N2 : 0 <= rounded (fr + rounded ((k + u) * fs))) by (apply rounded_not_negative; lra).
  assert (Rel : 1 + / 2 ^ 30 <= sum_relative <= 2) by (unfold sum_relative; simpl pow; lra).
  assert (N3 : 0 <= rounded (fr + rounded ((k + u) * fs)) * sum_relative) by (apply Rmult_le_pos; lra).
  pose proof (rounded_low _ N3) as L3.
  apply outward_holds; [apply rounded_is_float|apply rounded_not_negative; exact N3| |].
  { assert (0 <= k * slack * s) by (apply Rmult_le_pos; [apply Rmult_le_pos; [lra|unfold slack; lra]|lra]). lra. }
  apply Rle_trans with (2 := L3).
  set (t1 := rounded ((k + u) * fs)) in *. set (t2 := rounded (fr + t1)) in *.
  assert (B1 : k * s * (1 - / 2 ^ 32) * (1 - u) - tiny <= t1).
  { apply Rle_trans with (2 := L1).
    assert (k * s * (1 - / 2 ^ 32) <= (k + u) * fs).
    { apply Rle_trans with (k * fs); [|nra]. rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|].
      apply Rle_trans with (2 := Slow). rewrite Rmult_comm. apply Rmult_le_compat_r; lra. }
    assert (0 <= 1 - u) by (unfold u; lra). nra. }
  assert (B2 : r * (1 - / 2 ^ 32) <= fr).
  { apply Rle_trans with (2 := Rlow). rewrite Rmult_comm. apply Rmult_le_compat_r; lra. }
  assert (Ks : 0 <= k * s) by (apply Rmult_le_pos; lra).
  replace (k * slack * s) with (k * s * slack) by ring.
  assert (Up : t2 * (1 + / 2 ^ 30) <= t2 * sum_relative) by (apply Rmult_le_compat_l; lra).
  set (ks := k * s) in *. clearbody ks t1 t2 fr r. clear - B1 B2 Ks L2 Up R1 Tiny N2 Rel.
  unfold slack. simpl pow in *. unfold u in *. lra.
Qed.

(** * Sums of many pairs, one after the other *)

Record pair := Pair { high : R; low : R; error : R }.
Definition pair_plus (p q : pair) : pair :=
  let total := pair_sum (high p) (high q) in
  let rest := rest_of_sum (high p) (low p) (high q) (low q) in
  Pair (pair_sum total rest) (pair_rest total rest)
    (pair_sum_radius (high p) (low p) (error p) (high q) (low q) (error q)).
Definition holds (p : pair) (x : R) : Prop :=
  is_float (high p) /\ is_float (low p) /\ is_float (error p) /\ encloses (high p + low p) (error p) x.

Theorem sum_of_many_pairs_is_enclosed : forall pairs values first x, holds first x -> Forall2 holds pairs values ->
  holds (fold_left pair_plus pairs first) (fold_left Rplus values x).
Proof.
  intros pairs values first x H F. revert first x H.
  induction F as [|p y pairs values P F IH]; intros first x H; [exact H|]. simpl. apply IH.
  destruct H as [H1 [L1 [R1 E1]]]. destruct P as [H2 [L2 [R2 E2]]]. unfold holds, pair_plus. simpl.
  repeat split; try apply rounded_is_float.
  apply (sum_of_pairs_is_enclosed _ _ _ _ _ _ x y H1 L1 R1 H2 L2 R2 E1 E2).
Qed.
