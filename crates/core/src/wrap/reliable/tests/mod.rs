mod properties;
mod rules;
mod world;
