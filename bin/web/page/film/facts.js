// What the page knows of the film before it asks anybody. Made by: node bin/web/film/make.js

/** The name of the film: whoever sends it cannot change a byte of it unnoticed. */
export const FILM = 'bafkr4ibcu7cil3qpcqnval6f3xmzqbovtvelcwfktfwuzponk4jl42yn5m'
/** Bytes. */
export const FILM_LEN = 1564804
/** Seconds. */
export const FILM_SECONDS = 96
