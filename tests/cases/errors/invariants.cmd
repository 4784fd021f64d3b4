mcprove convert invariants.yaml
mcprove convert invariants.yaml --param wohami=me
mcprove convert invariants-newer.yaml
mcprove convert gone.yaml
