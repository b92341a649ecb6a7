/** The texts of the pages that recipients see, by language: `unsubscribe` asks, the others tell. */

export interface PageText {
  readonly title: string
  readonly text: string
}

export interface PageTexts {
  readonly unsubscribe: PageText & { readonly button: string }
  readonly unsubscribed: PageText
  /** The address holds no token of ours. */
  readonly unknown: PageText
  /** The email is no longer kept. */
  readonly gone: PageText
  /** To be tried again. */
  readonly unavailable: PageText
}

/** Where none of a reader's languages is here. */
export const fallbackLanguage = 'en'

export const pageTexts: Readonly<Record<string, PageTexts>> = {
  en: {
    unsubscribe: {
      title: 'Unsubscribe',
      text: 'Do you want to receive no more email from this sender at this address?',
      button: 'Unsubscribe',
    },
    unsubscribed: {
      title: 'You are unsubscribed',
      text: 'This sender will send no more email to this address.',
    },
    unknown: { title: 'Page not found', text: 'This link is not valid.' },
    gone: { title: 'Link expired', text: 'The email that this link belongs to is too old.' },
    unavailable: {
      title: 'Please try again',
      text: 'This cannot be done right now. Please try again in a moment.',
    },
  },
  de: {
    unsubscribe: {
      title: 'Abmelden',
      text: 'Möchten Sie von diesem Absender keine E-Mails mehr an diese Adresse erhalten?',
      button: 'Abmelden',
    },
    unsubscribed: {
      title: 'Sie sind abgemeldet',
      text: 'Dieser Absender schickt keine E-Mails mehr an diese Adresse.',
    },
    unknown: { title: 'Seite nicht gefunden', text: 'Dieser Link ist ungültig.' },
    gone: { title: 'Link abgelaufen', text: 'Die E-Mail, zu der dieser Link gehört, ist zu alt.' },
    unavailable: {
      title: 'Bitte noch einmal versuchen',
      text: 'Das ist gerade nicht möglich. Bitte versuchen Sie es gleich noch einmal.',
    },
  },
  fr: {
    unsubscribe: {
      title: 'Se désabonner',
      text: 'Souhaitez-vous ne plus recevoir d’e-mails de cet expéditeur à cette adresse ?',
      button: 'Se désabonner',
    },
    unsubscribed: {
      title: 'Vous êtes désabonné',
      text: 'Cet expéditeur n’enverra plus d’e-mails à cette adresse.',
    },
    unknown: { title: 'Page introuvable', text: 'Ce lien n’est pas valable.' },
    gone: { title: 'Lien expiré', text: 'L’e-mail auquel ce lien appartient est trop ancien.' },
    unavailable: {
      title: 'Veuillez réessayer',
      text: 'C’est impossible pour le moment. Veuillez réessayer dans un instant.',
    },
  },
  es: {
    unsubscribe: {
      title: 'Darse de baja',
      text: '¿Desea dejar de recibir correos de este remitente en esta dirección?',
      button: 'Darse de baja',
    },
    unsubscribed: {
      title: 'Se ha dado de baja',
      text: 'Este remitente no enviará más correos a esta dirección.',
    },
    unknown: { title: 'Página no encontrada', text: 'Este enlace no es válido.' },
    gone: {
      title: 'Enlace caducado',
      text: 'El correo al que pertenece este enlace es demasiado antiguo.',
    },
    unavailable: {
      title: 'Inténtelo de nuevo',
      text: 'No es posible en este momento. Inténtelo de nuevo dentro de un instante.',
    },
  },
  it: {
    unsubscribe: {
      title: 'Annulla l’iscrizione',
      text: 'Vuole non ricevere più email da questo mittente a questo indirizzo?',
      button: 'Annulla l’iscrizione',
    },
    unsubscribed: {
      title: 'Iscrizione annullata',
      text: 'Questo mittente non invierà più email a questo indirizzo.',
    },
    unknown: { title: 'Pagina non trovata', text: 'Questo link non è valido.' },
    gone: { title: 'Link scaduto', text: 'L’email a cui appartiene questo link è troppo vecchia.' },
    unavailable: {
      title: 'Riprovi',
      text: 'Al momento non è possibile. Riprovi tra un istante.',
    },
  },
  nl: {
    unsubscribe: {
      title: 'Afmelden',
      text: 'Wilt u op dit adres geen e-mail van deze afzender meer ontvangen?',
      button: 'Afmelden',
    },
    unsubscribed: {
      title: 'U bent afgemeld',
      text: 'Deze afzender stuurt geen e-mail meer naar dit adres.',
    },
    unknown: { title: 'Pagina niet gevonden', text: 'Deze link is niet geldig.' },
    gone: { title: 'Link verlopen', text: 'De e-mail waar deze link bij hoort is te oud.' },
    unavailable: {
      title: 'Probeer het opnieuw',
      text: 'Dit is nu niet mogelijk. Probeer het zo dadelijk opnieuw.',
    },
  },
  // Read in Portugal and in Brazil.
  pt: {
    unsubscribe: {
      title: 'Deixar de receber',
      text: 'Quer deixar de receber emails deste remetente neste endereço?',
      button: 'Deixar de receber',
    },
    unsubscribed: {
      title: 'Pedido confirmado',
      text: 'Este remetente não enviará mais emails para este endereço.',
    },
    unknown: { title: 'Página não encontrada', text: 'Este link não é válido.' },
    gone: {
      title: 'Link expirado',
      text: 'O email a que este link pertence é muito antigo.',
    },
    unavailable: {
      title: 'Tente novamente',
      text: 'Agora não é possível. Tente novamente daqui a pouco.',
    },
  },
  pl: {
    unsubscribe: {
      title: 'Wypisz się',
      text: 'Czy nie chcesz już otrzymywać wiadomości od tego nadawcy na ten adres?',
      button: 'Wypisz się',
    },
    unsubscribed: {
      title: 'Wypisano',
      text: 'Ten nadawca nie wyśle już wiadomości na ten adres.',
    },
    unknown: { title: 'Nie znaleziono strony', text: 'Ten link jest nieprawidłowy.' },
    gone: {
      title: 'Link wygasł',
      text: 'Wiadomość, do której należy ten link, jest zbyt stara.',
    },
    unavailable: {
      title: 'Spróbuj ponownie',
      text: 'W tej chwili nie jest to możliwe. Spróbuj ponownie za chwilę.',
    },
  },
}
