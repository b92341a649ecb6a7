/**
 * The words of the screens: each folder has a catalogue of its own, English first, German complete.
 *
 * A word is a text, or a function of what it tells: so numbers and plurals are the language's own.
 * The German catalogue has the type of the English one, so that none is missing.
 */
import { useLanguage } from './language.ts'

export interface Words<Catalogue> {
  readonly en: Catalogue
  readonly de: Catalogue
}

type Word<W> = W extends (...args: infer A) => string ? (...args: A) => string : string
type CatalogueOf<C> = {
  readonly [K in keyof C]: C[K] extends string | ((...args: never[]) => string)
    ? Word<C[K]>
    : CatalogueOf<C[K]>
}

export function defineWords<const C extends object>(
  en: C,
  de: CatalogueOf<C>,
): Words<CatalogueOf<C>> {
  return { en: en as unknown as CatalogueOf<C>, de }
}

/** In the language of the reader. */
export function useWords<C>(words: Words<C>): C {
  return words[useLanguage()]
}

/** German and English know one and many. */
export function plural(count: number, one: string, many: string): string {
  return count === 1 ? one : many
}
