//! A kubelet without containers: pods come up, fail and go as their annotations say.
