mod clerk;
mod properties;
mod rules;
mod table;
