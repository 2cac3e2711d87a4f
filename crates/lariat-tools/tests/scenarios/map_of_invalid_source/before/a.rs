pub fn good() {}

fn (((( {{{{ ]]

pub struct AlsoGood;
