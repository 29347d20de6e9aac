// The form with data-respond takes a response to an application: it is sent at once.
document.querySelector('form[data-respond]').submit();
