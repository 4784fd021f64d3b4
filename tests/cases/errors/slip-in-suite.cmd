mcprove run slip-in-suite
