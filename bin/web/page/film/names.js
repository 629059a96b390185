// What the page and its service worker call the same things.

/** The channel on which the service worker tells the page where bytes come from: see `FilmEvent`. */
export const FILM_CHANNEL = 'baobox-demo-film'
/** The folder of URLs that the service worker answers. */
export const FILM_FOLDER = '/film'
/** `GET`: which bytes of the film the store has, as ranges. */
export const PRESENT = `${FILM_FOLDER}/present`
/** `POST`: deletes the film from the store. */
export const FORGET = `${FILM_FOLDER}/forget`
