(** Laws of noise: how much two neighbouring sums change the chance of what is released. *)

From Coq Require Import Reals Lra Psatz List ZArith.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

(** * Laplace noise, rounded to integers *)

(** The density of Laplace noise of scale b. *)
Definition laplace (b z : R) : R := exp (- (Rabs z / b)) / (2 * b).

(** The chance of the integer y where the sum is x: noise is added and the result rounded to the
    nearest integer. *)
Definition chance (b : R) (x y : Z) : R :=
  RInt (fun z => laplace b (z - IZR x)) (IZR y - / 2) (IZR y + / 2).

Lemma laplace_continuous : forall b x z, continuous (fun z => laplace b (z - x)) z.
Proof.
  intros b x z. unfold laplace, Rdiv.
  apply (continuous_mult (fun z => exp (- (Rabs (z - x) * / b))) (fun _ => / (2 * b)));
    [|apply continuous_const].
  apply continuous_comp with (g := exp); [|apply continuous_exp].
  apply (continuous_opp (fun z => Rabs (z - x) * / b)).
  apply (continuous_mult (fun z => Rabs (z - x)) (fun _ => / b)); [|apply continuous_const].
  apply continuous_comp with (g := Rabs); [|apply continuous_Rabs].
  apply (continuous_minus (fun z => z) (fun _ => x)); [apply continuous_id|apply continuous_const].
Qed.

Lemma laplace_integrable : forall b x low high, ex_RInt (fun z => laplace b (z - x)) low high.
Proof. intros. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros. apply laplace_continuous. Qed.

Lemma laplace_ratio : forall b x x' z, 0 < b ->
  laplace b (z - x) <= exp (Rabs (x - x') / b) * laplace b (z - x').
Proof.
  intros b x x' z B. unfold laplace.
  replace (exp (Rabs (x - x') / b) * (exp (- (Rabs (z - x') / b)) / (2 * b)))
    with (exp (Rabs (x - x') / b) * exp (- (Rabs (z - x') / b)) / (2 * b)) by (field; lra).
  rewrite <- exp_plus. unfold Rdiv at 1 3.
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|].
  assert (T : - (Rabs (z - x) / b) <= Rabs (x - x') / b + - (Rabs (z - x') / b)).
  { replace (z - x') with ((z - x) + (x - x')) by ring.
    assert (Rabs (z - x + (x - x')) / b <= (Rabs (z - x) + Rabs (x - x')) / b).
    { apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|apply Rabs_triang]. }
    unfold Rdiv in *. lra. }
  destruct T as [T|T]; [left; apply exp_increasing; exact T|right; now rewrite T].
Qed.

Lemma chance_positive : forall b x y, 0 < b -> 0 < chance b x y.
Proof.
  intros b x y B. apply RInt_gt_0; [lra| |].
  - intros. unfold laplace. apply Rdiv_lt_0_compat; [apply exp_pos|lra].
  - intros. apply continuous_ext_loc with (2 := laplace_continuous b (IZR x) x0).
    apply filter_forall. reflexivity.
Qed.

Theorem rounded_laplace : forall b x x' y, 0 < b ->
  chance b x y <= exp (Rabs (IZR (x - x')) / b) * chance b x' y.
Proof.
  intros b x x' y B. unfold chance.
  rewrite <- (RInt_scal (V := R_CompleteNormedModule)) by apply laplace_integrable.
  apply RInt_le; [lra|apply laplace_integrable| |].
  - apply (ex_RInt_scal (V := R_NormedModule)), laplace_integrable.
  - intros z _. rewrite minus_IZR. apply laplace_ratio, B.
Qed.

(** Several coordinates: independent noise, so chances are multiplied. *)
Fixpoint product (size : nat) (f : nat -> R) : R :=
  match size with
  | O => 1
  | S rest => product rest f * f rest
  end.

Fixpoint total (size : nat) (f : nat -> R) : R :=
  match size with
  | O => 0
  | S rest => total rest f + f rest
  end.

(** How far the coordinates move, each in units of its scale. *)
Definition loss (size : nat) (b : nat -> Z) (x x' : nat -> Z) : R :=
  total size (fun j => Rabs (IZR (x j - x' j)) / IZR (b j)).

Lemma product_positive : forall size f, (forall j, 0 < f j) -> 0 < product size f.
Proof. induction size; simpl; intros f F; [lra|]. apply Rmult_lt_0_compat; auto. Qed.

(** Whatever integers y come out, their chance changes by at most exp(loss). *)
Theorem laplace_vector : forall size (b x x' y : nat -> Z), (forall j, (0 < b j)%Z) ->
  product size (fun j => chance (IZR (b j)) (x j) (y j))
  <= exp (loss size b x x') * product size (fun j => chance (IZR (b j)) (x' j) (y j)).
Proof.
  intros size b x x' y B. unfold loss. induction size; simpl; [rewrite exp_0; lra|].
  rewrite exp_plus.
  assert (Bj : 0 < IZR (b size)) by (apply IZR_lt, B).
  pose proof (rounded_laplace (IZR (b size)) (x size) (x' size) (y size) Bj) as Last.
  match goal with |- ?p * ?q <= ?e * ?f * (?p' * ?q') =>
    apply Rle_trans with ((e * p') * (f * q')); [|right; ring] end.
  apply Rmult_le_compat; auto.
  - left. apply product_positive. intros. apply chance_positive, IZR_lt, B.
  - left. apply chance_positive, Bj.
Qed.

(** Scales of at least width / epsilon make a sum that moves by at most the width in l1 pure epsilon. *)
Theorem laplace_is_pure : forall size epsilon width (b x x' y : nat -> Z),
  (forall j, (0 < b j)%Z) -> (forall j, IZR width <= epsilon * IZR (b j)) -> (0 < width)%Z ->
  total size (fun j => Rabs (IZR (x j - x' j))) <= IZR width ->
  product size (fun j => chance (IZR (b j)) (x j) (y j))
  <= exp epsilon * product size (fun j => chance (IZR (b j)) (x' j) (y j)).
Proof.
  intros size epsilon width b x x' y B Scale W D.
  apply Rle_trans with (1 := laplace_vector size b x x' y B).
  apply Rmult_le_compat_r; [left; apply product_positive; intros; apply chance_positive, IZR_lt, B|].
  assert (W' : 0 < IZR width) by (apply IZR_lt, W).
  assert (L : loss size b x x' <= epsilon).
  { unfold loss. apply Rle_trans with (epsilon / IZR width * total size (fun j => Rabs (IZR (x j - x' j)))).
    - clear D. induction size; simpl; [lra|]. rewrite Rmult_plus_distr_l. apply Rplus_le_compat; auto.
      assert (Bj : 0 < IZR (b size)) by (apply IZR_lt, B).
      unfold Rdiv. rewrite (Rmult_comm (Rabs _)). apply Rmult_le_compat_r; [apply Rabs_pos|].
      apply Rmult_le_reg_r with (IZR (b size)); [exact Bj|]. rewrite Rinv_l by lra.
      apply Rmult_le_reg_r with (IZR width); [exact W'|].
      replace (epsilon * / IZR width * IZR (b size) * IZR width) with (epsilon * IZR (b size)) by (field; lra).
      specialize (Scale size). lra.
    - assert (0 <= epsilon).
      { specialize (Scale O). assert (0 < IZR (b O)) by (apply IZR_lt, B). nra. }
      apply Rle_trans with (epsilon / IZR width * IZR width); [|right; field; lra].
      apply Rmult_le_compat_l; [|exact D]. apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat, W']. }
  destruct L as [L|L]; [left; apply exp_increasing, L|right; now rewrite L].
Qed.

(** * K-norm noise: density proportional to exp(-|z| / c) for a norm |.| *)

Section KNorm.

Variable point : Type.
Variable minus : point -> point -> point.
Variable norm : point -> R.
Variable c : R.
Hypothesis scale : 0 < c.
(** The triangle inequality, for z - x' = (z - x) + (x - x'). *)
Hypothesis triangle : forall z x x', norm (minus z x') <= norm (minus z x) + norm (minus x x').

(** The chance of an integer output is the integral of the density over the points that are rounded to
    it. Of an integral only this is needed, and assumed in the open: it does not fall where the function
    grows, and constants may be taken out of it. *)
Variable integral : (point -> R) -> R.
Hypothesis integral_grows : forall f g, (forall z, f z <= g z) -> integral f <= integral g.
Hypothesis integral_scales : forall a f, 0 <= a -> integral (fun z => a * f z) = a * integral f.

Theorem k_norm_ratio : forall x x',
  integral (fun z => exp (- (norm (minus z x) / c)))
  <= exp (norm (minus x x') / c) * integral (fun z => exp (- (norm (minus z x') / c))).
Proof.
  intros x x'. rewrite <- integral_scales by (left; apply exp_pos).
  apply integral_grows. intros z. rewrite <- exp_plus.
  assert (T : - (norm (minus z x) / c) <= norm (minus x x') / c + - (norm (minus z x') / c)).
  { assert (norm (minus z x') / c <= (norm (minus z x) + norm (minus x x')) / c)
      by (apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|apply triangle]).
    unfold Rdiv in *. lra. }
  destruct T as [T|T]; [left; apply exp_increasing; exact T|right; now rewrite T].
Qed.

End KNorm.

(** * The exponential mechanism, with weights in integers *)

Section Exponential.

(** Outcomes 0, .., count - 1 are drawn in proportion to weights; w and w' are those of neighbours. *)
Definition drawn (count : nat) (w : nat -> R) (o : nat) : R := w o / total count w.

Lemma total_grows : forall count f g, (forall o, (o < count)%nat -> f o <= g o) -> total count f <= total count g.
Proof. induction count; simpl; intros; [lra|]. apply Rplus_le_compat; auto. Qed.

Lemma total_scales : forall count a f, total count (fun o => a * f o) = a * total count f.
Proof. induction count; simpl; intros; [|rewrite IHcount]; ring. Qed.

Lemma total_positive : forall count f o, (o < count)%nat -> (forall k, (k < count)%nat -> 0 < f k) -> 0 < total count f.
Proof.
  intros count f o O F. destruct count; [inversion O|]. simpl.
  assert (0 <= total count f).
  { replace 0 with (total count (fun _ => 0)); [apply total_grows; intros; left; auto|].
    clear. induction count; simpl; [|rewrite IHcount]; ring. }
  assert (0 < f count) by auto. lra.
Qed.

(** Weights that fall by at most a factor exp(a) and rise by at most exp(b) change chances by at most
    exp(a + b). *)
Theorem weights_to_chances : forall count w w' a b o, (o < count)%nat ->
  (forall k, (k < count)%nat -> 0 < w k) ->
  (forall k, (k < count)%nat -> exp (- a) * w k <= w' k <= exp b * w k) ->
  drawn count w' o <= exp (a + b) * drawn count w o.
Proof.
  intros count w w' a b o O W Between. unfold drawn, Rdiv.
  assert (T : 0 < total count w) by (apply total_positive with o; auto).
  assert (T' : exp (- a) * total count w <= total count w').
  { rewrite <- total_scales. apply total_grows. intros. now apply Between. }
  assert (0 < exp (- a)) by apply exp_pos.
  assert (0 < exp (- a) * total count w) by (apply Rmult_lt_0_compat; auto).
  assert (0 < w o) by auto. destruct (Between o O) as [_ Up].
  apply Rle_trans with (exp b * w o * / (exp (- a) * total count w)).
  - apply Rmult_le_compat; auto.
    + destruct (Between o O) as [Low _].
      apply Rle_trans with (2 := Low). left. apply Rmult_lt_0_compat; auto.
    + left. apply Rinv_0_lt_compat. lra.
    + apply Rinv_le_contravar; auto.
  - right. rewrite exp_plus, (exp_Ropp a). field.
    repeat split; first [lra | apply Rgt_not_eq, exp_pos].
Qed.

(** What is drawn from: exp(c u) with a floor, each rounded to an integer weight that is at most as large
    and at least (1 - slack) times as large. *)
Definition weight (c floor u : R) : R := exp (c * u) + floor.

Theorem integer_weights : forall count (u u' : nat -> R) (v v' : nat -> R) c floor range slack o,
  (o < count)%nat -> 0 <= c -> 0 <= floor -> 0 <= slack < 1 -> 0 <= range ->
  (forall k, (k < count)%nat -> Rabs (u' k - u k) <= range / 2) ->
  (forall k, (k < count)%nat -> (1 - slack) * weight c floor (u k) <= v k <= weight c floor (u k)) ->
  (forall k, (k < count)%nat -> (1 - slack) * weight c floor (u' k) <= v' k <= weight c floor (u' k)) ->
  drawn count v' o <= exp (c * range) / ((1 - slack) * (1 - slack)) * drawn count v o.
Proof.
  intros count u u' v v' c floor range slack o O C F Slack Range Move Low Low'.
  assert (Pos : forall t, 0 < weight c floor t).
  { intros t. unfold weight. pose proof (exp_pos (c * t)). lra. }
  assert (Step : forall s t, Rabs (s - t) <= range / 2 ->
    weight c floor s <= exp (c * (range / 2)) * weight c floor t).
  { intros s t D. unfold weight. rewrite Rmult_plus_distr_l, <- exp_plus.
    assert (1 <= exp (c * (range / 2))).
    { rewrite <- exp_0. assert (0 <= c * (range / 2)) by nra.
      destruct H as [H|H]; [left; apply exp_increasing, H|right; now rewrite <- H]. }
    assert (s - t <= range / 2) by (apply Rle_trans with (2 := D); apply Rle_abs).
    assert (L : c * s <= c * (range / 2) + c * t) by nra.
    assert (exp (c * s) <= exp (c * (range / 2) + c * t)).
    { destruct L as [L|L]; [left; apply exp_increasing, L|right; now rewrite L]. }
    nra. }
  set (a := c * (range / 2) - ln (1 - slack)).
  assert (E : exp a = exp (c * (range / 2)) * / (1 - slack)).
  { unfold a, Rminus. rewrite exp_plus, exp_Ropp, exp_ln by lra. reflexivity. }
  assert (E' : exp (- a) = (1 - slack) * / exp (c * (range / 2))).
  { rewrite exp_Ropp, E, Rinv_mult, Rinv_inv. ring. }
  apply Rle_trans with (exp (a + a) * drawn count v o).
  - apply weights_to_chances; auto.
    + intros k K. destruct (Low k K). apply Rlt_le_trans with (2 := H). pose proof (Pos (u k)). nra.
    + intros k K. specialize (Move k K). destruct (Low k K) as [L1 L2], (Low' k K) as [L3 L4].
      pose proof (exp_pos (c * (range / 2))) as X. set (x := exp (c * (range / 2))) in *.
      split.
      * rewrite E'. apply Rle_trans with (2 := L3). rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|].
        apply Rmult_le_reg_l with x; [exact X|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
        apply Rle_trans with (1 := L2). apply Step. rewrite Rabs_minus_sym. exact Move.
      * rewrite E. apply Rle_trans with (1 := L4). apply Rle_trans with (1 := Step _ _ Move). fold x.
        rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|].
        apply Rmult_le_reg_l with (1 - slack); [lra|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. exact L1.
  - right. rewrite exp_plus, E. replace (c * range) with (c * (range / 2) + c * (range / 2)) by field.
    rewrite exp_plus. field. lra.
Qed.

End Exponential.

(** * Symmetric laws lose no more than one Laplace variable *)

Section Symmetric.

(** Points, of which only sums with multiples of one direction u and their opposites are needed. *)
Variable point : Type.
Variable shift : R -> point -> point.
Variable opposite : point -> point.
Hypothesis shift_shift : forall s t w, shift s (shift t w) = shift (s + t) w.
Hypothesis opposite_shift : forall s w, shift s (opposite w) = opposite (shift (- s) w).

(** Noise has the density exp(-phi), the same at opposite points, and along u phi changes by at most the
    way that is gone: u has length 1 in the norm, and d = r u is the difference of neighbouring sums. *)
Variable phi : point -> R.
Hypothesis symmetric : forall w, phi (opposite w) = phi w.
Hypothesis slow : forall s w, Rabs (phi (shift s w) - phi w) <= Rabs s.

(** The chance of a set of points. Assumed in the open, of the integral of the density: what measure
    theory says of a density, reflection and shifts. *)
Variable chance_of : (point -> Prop) -> R.
Hypothesis whole : chance_of (fun _ => True) = 1.
Hypothesis larger : forall A B : point -> Prop, (forall w, A w -> B w) -> chance_of A <= chance_of B.
Hypothesis either : forall A B : point -> Prop, chance_of (fun w => A w \/ B w) <= chance_of A + chance_of B.
Hypothesis reflected : forall A : point -> Prop, chance_of (fun w => A (opposite w)) = chance_of A.
(** Where the density at the shifted points is at least a times that of the set, so is their chance. *)
Hypothesis shifted : forall (A : point -> Prop) s a, 0 <= a ->
  (forall w, A w -> a * exp (- phi w) <= exp (- phi (shift s w))) ->
  a * chance_of A <= chance_of (fun z => A (shift (- s) z)).

(** The loss at z where neighbouring sums are r u apart. *)
Definition loss_at (r : R) (z : point) : R := phi (shift (- r) z) - phi z.

(** It is at most t at least as often as that of one Laplace variable. *)
Theorem symmetric_laws : forall r t, 0 <= t <= r ->
  exp (- ((r - t) / 2)) / 2 <= chance_of (fun z => loss_at r z <= t).
Proof.
  intros r t T. set (c := (r - t) / 2).
  set (half := fun w => phi (shift (- c) w) <= phi (shift c w)).
  assert (Half : / 2 <= chance_of half).
  { assert (Op : chance_of (fun w => half (opposite w)) = chance_of half) by apply reflected.
    assert (1 <= chance_of half + chance_of (fun w => half (opposite w))); [|lra].
    rewrite <- whole. apply Rle_trans with (2 := either _ _). apply larger. intros w _.
    unfold half. rewrite !opposite_shift, !symmetric, Ropp_involutive.
    destruct (Rle_lt_dec (phi (shift (- c) w)) (phi (shift c w))); [left|right]; lra. }
  apply Rle_trans with (exp (- c) * chance_of half).
  { pose proof (exp_pos (- c)). unfold Rdiv. fold c. nra. }
  apply Rle_trans with (chance_of (fun z => half (shift (- c) z))).
  - apply shifted; [left; apply exp_pos|]. intros w _. rewrite <- exp_plus.
    assert (L : - c + - phi w <= - phi (shift c w)).
    { pose proof (slow c w) as Slow. pose proof (Rle_abs (phi (shift c w) - phi w)).
      assert (Rabs c = c) by (apply Rabs_right; unfold c; lra). lra. }
    destruct L as [L|L]; [left; apply exp_increasing, L|right; now rewrite L].
  - apply larger. unfold half, loss_at. intros z H. rewrite !shift_shift in H.
    replace (- c + - c) with (- r + t) in H by (unfold c; field).
    replace (c + - c) with 0 in H by ring.
    assert (E : phi (shift 0 z) = phi z).
    { pose proof (slow 0 z) as Z0. rewrite Rabs_R0 in Z0.
      pose proof (Rabs_pos (phi (shift 0 z) - phi z)).
      assert (Rabs (phi (shift 0 z) - phi z) = 0) as A by lra.
      destruct (Req_dec (phi (shift 0 z) - phi z) 0) as [Q|Q]; [lra|].
      apply Rabs_no_R0 in Q. contradiction. }
    rewrite E in H.
    pose proof (slow (- t) (shift (- r + t) z)) as Slow. rewrite shift_shift in Slow.
    replace (- t + (- r + t)) with (- r) in Slow by ring.
    rewrite Rabs_Ropp, (Rabs_right t) in Slow by lra.
    pose proof (Rle_abs (phi (shift (- r) z) - phi (shift (- r + t) z))). lra.
Qed.

End Symmetric.
