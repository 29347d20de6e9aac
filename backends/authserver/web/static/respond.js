// The form with data-respond carries a response to an application. It is sent immediately.
document.querySelector('form[data-respond]').submit();
